import numpy as np
import pytest

from fairground.errors import DataError, InputError
from fairground.evaluation import Bootstrap, EmbeddingView, PairsByClass, evaluate, evaluate_in_detail, pairs_by_class
from fairground.metrics import OpisMetric


def test_by_hand():
    # Harmonic means 1 and 0.5 at one threshold, 0 and 0 at the other: 0.25 from their mean, and 0.
    accepted, refused = np.array([[1, 0], [0.5, 0]]), np.array([[1, 0], [0.5, 1]])
    assert OpisMetric().per_class(lambda *_: (accepted, refused)) == pytest.approx([0.25**2 / 2, 0.25**2 / 2])


def test_thresholds_by_hand():
    # On a line: class a at 0 and 1, class b at 10 and 18, c alone at 19. Impostor pairs are 1, 9, 9, 10, 17, 18, 18, 19
    # apart: an eighth pass up to the last step below 9, half up to the last below 17.
    view = EmbeddingView(np.array([[0.0], [1], [10], [18], [19]]), [0, 0, 1, 1, 2], normalise=False)
    accepted, refused = PairsByClass(view).shares(0.125, 0.5, 2)
    assert accepted.tolist() == [[1, 1], [1, 1]]
    # Of class a's six impostor pairs 9, 10, 18, 17, 19, 18 none is nearer than 9 and two are nearer than 17; of class
    # b's 10, 9, 9, 18, 17, 1 one and four.
    assert refused.tolist() == pytest.approx(np.array([[6, 4], [5, 2]]) / 6)


def slow(rows, labels, groups=None, low_far=0.01, high_far=0.1, n=101):
    """Return OPIS by one pair after another."""
    n_rows = len(rows)
    group = list(range(n_rows)) if groups is None else groups
    pairs = [(i, j) for i in range(n_rows) for j in range(i) if group[i] != group[j]]
    d = {(i, j): float(np.linalg.norm(rows[i] - rows[j])) for i, j in pairs}
    impostors = sorted(d[i, j] for i, j in d if labels[i] != labels[j])
    top = 2 * max(np.linalg.norm(row) for row in rows)
    grid = [top * step / 10_000 for step in range(10_001)]
    far = np.searchsorted(impostors, grid, side="right") / len(impostors)
    ends = [max(t for t, rate in zip(grid, far, strict=True) if rate <= wanted) for wanted in (low_far, high_far)]
    curves = []
    for c in set(labels.tolist()):
        own = [d[pair] for pair in d if labels[pair[0]] == labels[pair[1]] == c]
        apart = [d[pair] for pair in d if (labels[pair[0]] == c) != (labels[pair[1]] == c)]
        if own:
            shares = [(np.mean(np.array(own) <= t), np.mean(np.array(apart) > t)) for t in np.linspace(*ends, n)]
            curves.append([2 * s * p / (s + p) if s + p else 0.0 for s, p in shares])
    return float(np.mean((np.array(curves) - np.mean(curves, 0)) ** 2))


@pytest.mark.parametrize("normalise", [True, False])
def test_agrees_with_a_loop_over_pairs_in_any_blocks(normalise, monkeypatch):
    draw = np.random.default_rng(2)
    labels = np.concatenate([draw.integers(7, size=70), [8]])
    rows = draw.normal(size=(9, 4))[labels] + draw.normal(size=(71, 4)) * draw.uniform(0.2, 1, (9, 1))[labels]
    points = rows / np.linalg.norm(rows, axis=1, keepdims=True) if normalise else rows
    expected = slow(points, labels)
    assert expected > 1e-3
    groups = draw.integers(5, size=71)
    found = evaluate(rows, labels, ["opis"], normalise=normalise, groups=groups)["opis"]
    assert found == pytest.approx(slow(points, labels, groups), abs=1e-12)
    assert evaluate(rows, labels, ["opis"], normalise=normalise)["opis"] == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(pairs_by_class, "EDGE", 16)
    assert evaluate(rows, labels, ["opis"], normalise=normalise)["opis"] == pytest.approx(expected, abs=1e-12)


def test_an_interval_is_over_classes():
    draw = np.random.default_rng(3)
    labels = np.repeat(np.arange(12), 6)
    rows = draw.normal(size=(12, 4))[labels] + draw.normal(size=(72, 4)) * draw.uniform(0.2, 1, (12, 1))[labels]
    found = evaluate_in_detail(EmbeddingView(rows, labels), ["opis"], bootstrap=Bootstrap(n_draws=200))
    interval = found.intervals["opis"]
    assert interval.low < found.scores["opis"] < interval.high


def test_refusals():
    with pytest.raises(DataError, match="opis needs two classes, and two rows of one of them"):
        evaluate(np.eye(3), np.arange(3), ["opis"])
    with pytest.raises(InputError, match="opis compares the pairs of one set: it takes no references"):
        evaluate(np.eye(3), [0, 0, 1], ["opis"], references=np.eye(3), reference_labels=[0, 0, 1])
