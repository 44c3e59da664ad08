"""The pictures of a measured split: who is drawn beside whom."""

import numpy as np
import pytest

from fairground.contracts.dataset import ImageTable
from fairground.loading.image_dataset import ImagesInMemory
from fairground.training.gallery_queries import gallery_of

N = 12


def table(**columns):
    pixels = np.arange(N, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 4, 4), np.uint8)
    facts = {"labels": np.arange(N) // 3, "class_names": ("a", "b", "c", "d"), **columns}
    return ImageTable(images=ImagesInMemory(pixels), **facts)


@pytest.fixture
def embeddings():
    return np.random.default_rng(0).normal(size=(N, 5))


def by_loop(embeddings, query, allowed):
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    return sorted(allowed, key=lambda row: -float(unit[query] @ unit[row]))


def test_all_search_each_other_where_nobody_has_a_role(embeddings):
    shown = gallery_of(table(), np.arange(N), embeddings, k=4)["rows"]
    assert shown.shape == (N, 5)
    for query, *neighbours in shown.tolist():
        assert neighbours == by_loop(embeddings, query, set(range(N)) - {query})[:4]


def test_queries_search_the_gallery_alone(embeddings):
    is_query = np.arange(N) % 3 == 0
    found = gallery_of(table(is_query=is_query, is_gallery=~is_query), np.arange(N), embeddings, k=4)
    assert set(found["rows"][:, 0].tolist()) == {0, 3, 6, 9}
    for query, *neighbours in found["rows"].tolist():
        assert neighbours == by_loop(embeddings, query, np.flatnonzero(~is_query).tolist())[:4]
    assert found["labels"].shape == (4, 5)
    assert (found["right"] == (found["labels"][:, 1:] == found["labels"][:, :1])).all()
    # The picture is that of the row.
    assert (found["images"][:, :, 0, 0, 0] == found["rows"]).all()


def test_the_query_s_group_is_passed_over(embeddings):
    groups = np.arange(N) % 4
    shown = gallery_of(table(groups=groups), np.arange(N), embeddings, k=20)["rows"]
    # Of twelve, three are of the query's group.
    assert shown.shape == (N, 10)
    for query, *neighbours in shown.tolist():
        assert neighbours == by_loop(embeddings, query, [row for row in range(N) if groups[row] != groups[query]])


def test_nothing_is_drawn_where_there_is_nothing_to_find(embeddings):
    is_query = np.ones(N, bool)
    assert gallery_of(table(is_query=is_query, is_gallery=~is_query), np.arange(N), embeddings) is None
    assert gallery_of(table(groups=np.zeros(N, np.int64)), np.arange(N), embeddings) is None
