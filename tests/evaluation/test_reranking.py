"""Re-ranked lists against dense transcriptions of their definitions, which share no code with them."""

import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.evaluation import EmbeddingView, evaluate, evaluate_in_detail
from fairground.retrieval import KReciprocal, QueryExpansion
from fairground.spec import declared_metric


def points(n: int, d: int = 6, *, n_classes: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    labels = generator.integers(n_classes, size=n)
    return generator.normal(size=(n_classes, d))[labels] + 0.8 * generator.normal(size=(n, d)), labels


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def dense_k_reciprocal(rows: np.ndarray, how: KReciprocal) -> np.ndarray:
    """Return the final distance of all pairs, as the paper writes it, on matrices (n, n)."""
    n = len(rows)
    distance = ((rows[:, None] - rows[None]) ** 2).sum(2)
    distance = distance / np.maximum(distance.max(1, keepdims=True), 1e-300)
    order = np.array([[i, *(j for j in np.argsort(row, kind="stable") if j != i)] for i, row in enumerate(distance)])

    def mutual(i: int, k: int) -> set[int]:
        return {j for j in order[i, : k + 1].tolist() if i in order[j, : k + 1]}

    weights = np.zeros((n, n))
    for i in range(n):
        first = mutual(i, how.k1)
        members = set(first)
        for c in first:
            more = mutual(c, int(np.around(how.k1 / 2)))
            if len(more & first) > 2 / 3 * len(more):
                members |= more
        for j in members:
            weights[i, j] = np.exp(-distance[i, j])
        weights[i] /= weights[i].sum()
    weights = np.array([weights[order[i, : how.k2]].mean(0) for i in range(n)])
    common = np.array([[np.minimum(a, b).sum() for b in weights] for a in weights])
    return (1 - how.weight) * (1 - common / (2 - common)) + how.weight * distance


def dense_expansion(rows: np.ndarray, others: np.ndarray, how: QueryExpansion, *, is_own: bool) -> np.ndarray:
    found = []
    for i, row in enumerate(rows):
        scores = others @ row
        near = [j for j in np.argsort(-scores, kind="stable") if not (is_own and j == i)][: how.n]
        found.append(row + sum(max(0.0, scores[j]) ** how.alpha * others[j] for j in near))
    return unit(np.array(found))


def lists_of(scores: np.ndarray, *, leaves_own: bool) -> np.ndarray:
    """Return the numbers of the references from the highest score down, the query itself left out."""
    order = [np.argsort(-row, kind="stable") for row in scores]
    return np.array([[j for j in row if not (leaves_own and j == i)] for i, row in enumerate(order)])


@pytest.mark.parametrize(
    "how", [KReciprocal(), KReciprocal(7, 3, 0.5), KReciprocal(5, 1, 0.1), KReciprocal(30, 10, 1.0)]
)
@pytest.mark.parametrize("n", [60, 9, 2])
@pytest.mark.parametrize("normalise", [True, False])
def test_k_reciprocal_lists_are_those_of_the_definition(how: KReciprocal, n: int, normalise: bool) -> None:
    rows, labels = points(n)
    found = EmbeddingView(rows, labels, normalise=normalise).reranked(how).neighbour_numbers(n - 1)
    expected = lists_of(-dense_k_reciprocal(unit(rows) if normalise else rows, how), leaves_own=True)
    assert np.array_equal(found, expected)


def test_queries_and_references_are_re_ranked_together() -> None:
    rows, labels = points(50)
    view = EmbeddingView(rows[:20], labels[:20], rows[20:], labels[20:])
    final = dense_k_reciprocal(unit(rows), KReciprocal())[:20, 20:]
    assert np.array_equal(view.reranked("k_reciprocal").neighbour_numbers(30), lists_of(-final, leaves_own=False))
    queries = dense_expansion(unit(rows[:20]), unit(rows[20:]), QueryExpansion(), is_own=False)
    gallery = dense_expansion(unit(rows[20:]), unit(rows[20:]), QueryExpansion(), is_own=True)
    found = view.reranked("query_expansion").neighbour_numbers(30)
    assert np.array_equal(found, lists_of(queries @ gallery.T, leaves_own=False))


@pytest.mark.parametrize("how", [QueryExpansion(), QueryExpansion(3, 1.0), QueryExpansion(100, 5.0)])
def test_expanded_lists_are_those_of_the_definition(how: QueryExpansion) -> None:
    rows, labels = points(40)
    moved = dense_expansion(unit(rows), unit(rows), how, is_own=True)
    found = EmbeddingView(rows, labels).reranked(how).neighbour_numbers(39)
    assert np.array_equal(found, lists_of(moved @ moved.T, leaves_own=True))


def test_by_hand() -> None:
    # Four points on a line: {0, 1} and {2, 3} are each other's nearest, and 1 is as near to 2 as to 0.
    rows = np.array([[0.0], [1.0], [2.0], [3.1]])
    overlap = EmbeddingView(rows, [0, 0, 1, 1], normalise=False).reranked(KReciprocal(1, 1, 0.5))
    # R(0) = {0, 1}, R(1) = {1, 0}, R(2) = {2}, since 2's nearest is 1 and 1's is 0, and R(3) = {3}.
    weights_0, weights_1 = np.exp([0, -1 / 3.1**2]), np.exp([-1 / 2.1**2, 0])
    common = np.minimum(weights_0 / weights_0.sum(), weights_1 / weights_1.sum()).sum()
    jaccard = common / (2 - common)
    bonus = overlap.bonus
    assert np.diff(bonus.indptr).tolist() == [2, 2, 1, 1]
    assert bonus.indices.tolist() == [0, 1, 0, 1, 2, 3]
    # m (1 - weight) / (2 weight) is half of the furthest squared distance.
    assert bonus.data[1] == pytest.approx(3.1**2 / 2 * jaccard, rel=1e-6)
    assert overlap.neighbour_numbers(1).ravel().tolist() == [1, 0, 1, 2]


@pytest.mark.parametrize("way", ["k_reciprocal", "query_expansion"])
def test_edges_copies_lone_classes_and_few_rows(way: str) -> None:
    rows = np.ones((6, 3), np.float32)
    rows[4:] = -1
    scores = evaluate(rows, [0, 0, 0, 0, 1, 2], ["recall@1", "map@r"], rerank=way)
    assert scores[f"recall@1+{way}"] == 1.0
    assert scores[f"map@r+{way}"] == 1.0
    alone = evaluate(rows[:2], [0, 0], ["recall@1"], rerank=way)
    assert alone == {"recall@1": 1.0, f"recall@1+{way}": 1.0}
    assert evaluate(np.zeros((3, 2)), [0, 0, 1], ["recall@1"], rerank=way)[f"recall@1+{way}"] in (0.0, 0.5, 1.0)


@pytest.mark.parametrize("way", ["k_reciprocal", "query_expansion"])
def test_threads_blocks_groups_and_devices_give_the_same_scores(way: str) -> None:
    rows, labels = points(300, n_classes=12)
    groups = np.arange(300) % 4
    asked = {"metrics": [f"map@r+{way}", f"recall@2+{way}"], "groups": groups}
    first = evaluate(rows, labels, threads=1, **asked)
    assert first == evaluate(rows, labels, threads=2, block=64, **asked)
    view = EmbeddingView(rows, labels, groups=groups)
    view.device = torch.device("cpu")
    assert dict(evaluate_in_detail(view, asked["metrics"]).scores) == pytest.approx(first, abs=1e-12)


def test_re_ranked_scores_have_names_of_their_own_and_lift_clustered_rows() -> None:
    rows, labels = points(200)
    found = evaluate(rows, labels, ["map@r", "nmi"], rerank="k_reciprocal")
    assert [*found] == ["map@r", "nmi", "map@r+k_reciprocal"]
    assert found["map@r+k_reciprocal"] > found["map@r"]
    assert evaluate(rows, labels, ["map@r"])["map@r"] == found["map@r"]
    declared = declared_metric("MAP@R+k_reciprocal")
    assert declared.word == "map@r+k_reciprocal"
    assert declared.title == "MAP@R re-ranked (k reciprocal, transductive)"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"rerank": "sideways"}, "rerank must be none, k_reciprocal or query_expansion; got 'sideways'"),
        ({"rerank": KReciprocal(k1=0)}, "k_reciprocal.k1 must be at least 1; got 0"),
        ({"rerank": KReciprocal(k2=21)}, "k_reciprocal.k2 must be between 1 and k1 = 20; got 21"),
        ({"rerank": KReciprocal(weight=0.0)}, r"k_reciprocal.weight must be in \(0, 1\]; got 0.0"),
        ({"rerank": QueryExpansion(n=0)}, "query_expansion.n must be at least 1; got 0"),
        ({"rerank": "query_expansion", "normalise": False}, "adds up unit vectors"),
        ({"rerank": "k_reciprocal", "metrics": ["nmi"]}, "no metric asked for looks at them"),
        ({"metrics": ["nmi+k_reciprocal"]}, "cannot be re-ranked"),
    ],
)
def test_refusals(settings: dict, sentence: str) -> None:
    rows, labels = points(30)
    with pytest.raises(InputError, match=sentence):
        evaluate(rows, labels, **{"metrics": ["map@r"], **settings})
