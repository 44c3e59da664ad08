"""What the page of a recommendation shows of the data, against plain loops."""

import numpy as np
import pytest

from fairground.contracts.dataset import ImageTable
from fairground.evaluation import EmbeddingView
from fairground.loading.image_dataset import ImagesInMemory
from fairground.recommendation import page_pictures
from fairground.recommendation.page_pictures import PagePictures

N, LABELS = 24, np.arange(24) // 6
ROWS = np.arange(6, 24)


@pytest.fixture
def table():
    pixels = np.arange(N, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 4, 4), np.uint8)
    return ImageTable(images=ImagesInMemory(pixels), labels=LABELS, class_names=("a", "b", "c", "d"))


def embedded(spread):
    """Return embeddings of the rows around a direction per class."""
    generator = np.random.default_rng(3)
    return generator.normal(size=(4, 8))[LABELS] + spread * generator.normal(size=(N, 8))


@pytest.fixture
def pictures(table):
    views = {name: EmbeddingView(embedded(n)[ROWS], LABELS[ROWS]) for name, n in (("before", 2.0), ("after", 0.7))}
    return PagePictures(table, ROWS, views)


def nearest_by_loop(spread, row):
    unit = embedded(spread) / np.linalg.norm(embedded(spread), axis=1, keepdims=True)
    return sorted(set(ROWS.tolist()) - {row}, key=lambda one: -float(unit[row] @ unit[one]))


def precision_by_loop(spread, row):
    right = [LABELS[one] == LABELS[row] for one in nearest_by_loop(spread, row)[:5]]
    return sum(sum(right[: place + 1]) / (place + 1) for place in range(5) if right[place]) / 5


def test_searches_go_from_the_most_gained_to_the_most_lost(pictures):
    found = pictures.searches()
    gains = [precision_by_loop(0.7, row) - precision_by_loop(2.0, row) for row in ROWS.tolist()]
    shown = [gains[one["picture"].row - 6] for one in found]
    assert len(shown) == page_pictures.N_SEARCHES
    assert (shown[0], shown[-1]) == pytest.approx((max(gains), min(gains)))
    assert shown == sorted(shown, reverse=True)
    for one in found:
        row = one["picture"].row
        for spread, tiles in zip((2.0, 0.7), one["found"], strict=True):
            assert [tile.row for tile in tiles] == nearest_by_loop(spread, row)[:6]
            assert [tile.is_right for tile in tiles] == [LABELS[tile.row] == LABELS[row] for tile in tiles]
            assert all(tile.uri.startswith("data:image/png") for tile in tiles)


def test_confused_classes_are_counted_before_and_after(pictures):
    counts: list[dict] = []
    for spread in (2.0, 0.7):
        pairs: dict = {}
        for row in ROWS.tolist():
            pair = tuple(sorted({"abcd"[LABELS[row]], "abcd"[LABELS[nearest_by_loop(spread, row)[0]]]}))
            pairs[pair] = pairs.get(pair, 0) + (len(pair) == 2)
        counts.append(pairs)
    found = pictures.confused()
    most = sorted((times for times in counts[1].values() if times), reverse=True)
    assert [one["counts"][1] for one in found] == most
    for one in found:
        assert one["counts"] == [pairs.get(tuple(one["names"]), 0) for pairs in counts]
        assert one["n"] == 12
        assert [tile.label in one["names"] for tile in one["pictures"]] == [True, True]


def test_a_swapped_label_is_found_and_classes_that_cannot_be_told_apart_have_none(pictures, table):
    labels = LABELS.copy()
    labels[[8, 20]] = labels[[20, 8]]
    swapped = PagePictures(ImageTable(images=table.images, labels=labels, class_names=table.class_names), ROWS, {})
    found = swapped.suspects([(embedded(0.2), np.arange(N))])
    assert found["n_found"] == 2
    assert {(one["name"], *(tile.label for tile in one["classes"])) for one in found["shown"]} == {
        ("row 8", "d", "b"),
        ("row 20", "b", "d"),
    }
    noise = np.random.default_rng(0).normal(size=(N, 8))
    assert swapped.suspects([(noise, np.arange(N))]) is None
    assert swapped.suspects([(noise, np.arange(N)), (embedded(0.2), np.arange(N))]) is not None
    assert pictures.suspects([(noise[:2], np.arange(2))]) is None


def test_all_of_it_and_nothing_of_a_sealed_test(pictures, table):
    found = pictures.content(embedded(0.2), np.arange(N))
    assert [one.label for one in found["maps"]] == ["before", "after"]
    assert found["maps"][0].n_images == 18
    sealed = PagePictures(table, ROWS[:0], {}).content(embedded(0.2), np.arange(N))
    assert [sealed[name] for name in ("searches", "confused", "maps")] == [[], [], []]
