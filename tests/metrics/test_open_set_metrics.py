import numpy as np
import pytest

from fairground.contracts.metric import OpenSet
from fairground.errors import DataError, InputError
from fairground.evaluation import Bootstrap, EmbeddingView, evaluate, evaluate_in_detail
from fairground.metrics import DirMetric, OpenSetAurocMetric, OscrMetric

# Known scores 4, 3, 2, 2.5: right, right, wrong (a tie), wrong. Unknown scores 1, 1, 2, 2.5.
BY_HAND = OpenSet(own=np.array([4.0, 3, 2, 1]), other=np.array([1.0, 1, 2, 2.5]), weights=np.ones(4))


def test_by_hand():
    # 4 beats four unknown, 3 beats four, 2 beats two and equals one, 2.5 beats three and equals one: 14 of 16.
    assert OpenSetAurocMetric().score(BY_HAND) == pytest.approx(14 / 16)
    # Only the first two known queries are right, and each beats all four.
    assert OscrMetric().score(BY_HAND) == pytest.approx(8 / 16)
    # One of four unknown queries may pass: anything above 2 does, and two known ones are right there.
    assert DirMetric(fpir=0.25).score(BY_HAND) == 0.5
    assert DirMetric(fpir=0).score(BY_HAND) == 0.5


def test_a_query_whose_class_is_nowhere_is_unknown_only():
    trials = OpenSet(own=np.array([3.0, -np.inf]), other=np.array([1.0, 2.0]), weights=np.ones(2))
    assert OpenSetAurocMetric().score(trials) == 1
    assert DirMetric(fpir=0).score(trials) == 1


def slow_trials(rows, labels):
    """Return scores with and without the own class, and whether the nearest is of it, by one query after another."""
    known, right, unknown = [], [], []
    for i, row in enumerate(rows):
        own = [-float(((row - rows[j]) ** 2).sum()) for j in range(len(rows)) if j != i and labels[j] == labels[i]]
        other = [-float(((row - rows[j]) ** 2).sum()) for j in range(len(rows)) if labels[j] != labels[i]]
        unknown.append(max(other))
        if own:
            known.append(max(own + other))
            right.append(max(own) > max(other))
    return known, right, unknown


@pytest.mark.parametrize("normalise", [True, False])
def test_agrees_with_loops_over_pairs_of_queries(normalise):
    draw = np.random.default_rng(3)
    labels = draw.integers(9, size=70)
    labels[4] = 99  # a class of one
    rows = draw.normal(size=(100, 4))[labels] + draw.normal(size=(70, 4))
    # Whole numbers: many queries score exactly as others.
    rows = rows if normalise else (2 * rows).round()
    points = rows / np.linalg.norm(rows, axis=1, keepdims=True) if normalise else rows
    known, right, unknown = slow_trials(points, labels)
    wins = [[(k > u) + (k == u) / 2 for u in unknown] for k in known]
    found = evaluate(rows, labels, ["open_set_auroc", "oscr", "dir@fpir=0.1"], normalise=normalise, threads=2)
    assert found["open_set_auroc"] == pytest.approx(np.mean(wins), abs=1e-12)
    assert found["oscr"] == pytest.approx(
        np.mean([np.mean(w) * r for w, r in zip(wins, right, strict=True)]), abs=1e-12
    )
    rates = [
        np.mean([r and k >= t for k, r in zip(known, right, strict=True)])
        for t in [*known, *unknown]
        if np.mean([u >= t for u in unknown]) <= 0.1
    ]
    assert found["dir@fpir=0.1"] == pytest.approx(max(rates), abs=1e-12)


def test_a_gallery_of_its_own():
    queries, gallery = np.array([[0.0, 1], [1, 0], [-1, -1]]), np.array([[0.1, 1], [1, 0.1]])
    found = evaluate(queries, [0, 1, 2], ["open_set_auroc", "dir@0.0"], references=gallery, reference_labels=[0, 1])
    assert found == {"open_set_auroc": 1.0, "dir@0.0": 1.0}


def test_queries_whose_class_the_gallery_lacks_are_the_unknown_ones():
    # Known scores 4 and 2, unknown 3; that a known one scores 3.5 without its class does not count.
    own, other = np.array([4.0, 2.0, -np.inf]), np.array([3.5, 1.0, 3.0])
    trials = OpenSet(own=own, other=other, weights=np.ones(3), has_strangers=True)
    assert OpenSetAurocMetric().score(trials) == 0.5
    assert OscrMetric().score(trials) == 0.5
    assert DirMetric(fpir=0).score(trials) == 0.5
    draw = np.random.default_rng(4)
    labels = np.concatenate([draw.integers(5, size=60), [5] * 20])
    rows = draw.normal(size=(6, 4))[labels] + draw.normal(size=(80, 4))
    gallery = (rows[:40], labels[:40])
    similarity = (rows @ gallery[0].T) / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(gallery[0], axis=1)
    best = similarity[40:].max(1)
    wins = best[:20, None] > best[None, 20:]
    view = EmbeddingView(rows[40:], labels[40:], *gallery)
    detail = evaluate_in_detail(view, ["open_set_auroc"], bootstrap=Bootstrap(n_draws=50))
    assert detail.scores["open_set_auroc"] == pytest.approx(wins.mean())
    assert detail.intervals["open_set_auroc"].low < wins.mean() < detail.intervals["open_set_auroc"].high


def test_intervals_draw_classes():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(20), 5)
    rows = draw.normal(size=(20, 6))[labels] + draw.normal(size=(100, 6))
    detail = evaluate_in_detail(EmbeddingView(rows, labels), ["oscr"], bootstrap=Bootstrap(n_draws=50))
    assert 0 < detail.intervals["oscr"].low < detail.scores["oscr"] < detail.intervals["oscr"].high < 1


def test_refusals():
    with pytest.raises(InputError, match=r"dir.fpir must be in \[0, 1\).*got 1"):
        DirMetric(fpir=1)
    with pytest.raises(DataError, match="need two rows of one class"):
        evaluate(np.eye(3), [0, 1, 2], ["oscr"])
    with pytest.raises(DataError, match="need references of another class"):
        evaluate(np.eye(3), [0, 0, 0], ["oscr"])
