"""Scores by the distance in a Poincaré ball, against loops over the ball's own formula and against the loss."""

import math

import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.evaluation import EmbeddingView, evaluate
from fairground.losses import PairwiseCrossEntropyLoss
from fairground.retrieval import Poincare

DRAW = np.random.default_rng(3)
LABELS = DRAW.integers(6, size=90)
POINTS = DRAW.normal(size=(6, 4))[LABELS] + 0.9 * DRAW.normal(size=(90, 4))
METRICS = ["recall@1", "map@r", "map", "eer", "roc_auc", "open_set_auroc", "dir@0.05", "opis"]


def in_ball(v, c, longest):
    length = math.hypot(*v)
    radius = min(math.tanh(math.sqrt(c) * min(length, longest)), 1 - 1e-3)
    return [radius * x / (length * math.sqrt(c)) for x in v] if length else list(v)


def distance(v, w, c, longest):
    x, y = in_ball(v, c, longest), in_ball(w, c, longest)
    room = (1 - c * math.fsum(a * a for a in x)) * (1 - c * math.fsum(b * b for b in y))
    return math.acosh(1 + 2 * c * math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / room) / math.sqrt(c)


@pytest.mark.parametrize("ball", [Poincare(), Poincare(curvature=1.0, longest=1.5), Poincare(curvature=30.0)])
def test_lists_agree_with_a_loop_over_the_formula(ball):
    apart = np.array([[distance(v, w, *ball) for w in POINTS.tolist()] for v in POINTS.tolist()])
    np.fill_diagonal(apart, np.inf)
    expected = np.argsort(apart, axis=1, kind="stable")[:, :20]
    view = EmbeddingView(POINTS, LABELS, distance=ball, normalise=False)
    # Vectors at the rim that point alike are equally far from all others, up to rounding.
    near = np.take_along_axis(apart, view.neighbour_numbers(20), 1)
    np.testing.assert_allclose(near, np.take_along_axis(apart, expected, 1), rtol=1e-6)
    rows = POINTS.copy()
    ball.place(rows)
    np.fill_diagonal(apart, 0)
    np.testing.assert_allclose(ball.distances(rows, rows), apart, atol=1e-5, rtol=1e-6)


def test_by_hand():
    # From the origin D is 2 |v|, whatever the curvature; beyond `longest` everything is as far.
    rows = np.array([[0.0, 0], [0.3, 0.4], [0, 2], [0, 9]])
    ball = Poincare(curvature=0.5, longest=1.5)
    ball.place(rows)
    np.testing.assert_allclose(ball.distances(rows[:1], rows)[0], [0, 1, 3, 3])


def test_the_loss_has_the_same_distances():
    rows = POINTS.copy()
    Poincare().place(rows)
    loss = PairwiseCrossEntropyLoss(distance="poincare", epsilon=0.0)
    expected = loss.poincare_distances(torch.from_numpy(POINTS)).numpy()
    np.testing.assert_allclose(Poincare().distances(rows, rows), expected, atol=1e-6)


def test_for_short_vectors_and_for_unit_ones_the_order_is_euclidean():
    short, unit = 1e-6 * POINTS, POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    for rows in (short, unit):
        found, expected = (
            evaluate(rows, LABELS, METRICS, normalise=False, distance=d) for d in ("poincare", "euclidean")
        )
        # Thresholds of opis are steps of the distance itself.
        assert found.pop("opis") == pytest.approx(expected.pop("opis"), rel=0.01)
        assert found == pytest.approx(expected, abs=1e-9)
    curved, flat = (evaluate(POINTS, LABELS, ["map"], normalise=False, distance=d) for d in ("poincare", "euclidean"))
    assert abs(curved["map"] - flat["map"]) > 1e-3


def test_references_groups_copies_and_threads_change_nothing():
    ball, both = {"distance": "poincare", "normalise": False}, np.concatenate([POINTS, POINTS[:7]])
    labels, words = np.concatenate([LABELS, LABELS[:7]]), METRICS[:7]
    one = evaluate(both, labels, words, **ball, threads=1)
    numbers = {"groups": np.arange(97), "reference_groups": np.arange(97)}
    assert evaluate(both, labels, words, both, labels, **numbers, **ball, threads=2, block=40) == one


def test_refusals():
    for settings, sentence in (
        ({"distance": "poincare"}, r"compares raw vectors: say normalise=False"),
        ({"distance": Poincare(curvature=0), "normalise": False}, "poincare.curvature must be above 0; got 0"),
        ({"distance": Poincare(longest=-1), "normalise": False}, "poincare.longest must be above 0; got -1"),
        ({"distance": "poincare", "normalise": False, "rerank": "k_reciprocal"}, "rerank looks at cosine or Euclidean"),
        ({"distance": "hyperbolic"}, "distance must be 'cosine', 'euclidean' or 'poincare'; got 'hyperbolic'"),
    ):
        with pytest.raises(InputError, match=sentence):
            evaluate(POINTS, LABELS, ["recall@1"], **settings)
