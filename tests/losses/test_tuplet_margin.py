from math import acos, cos, exp, log, radians

import pytest
import torch

from fairground.contracts.loss import Triplets
from fairground.losses import NtXentLoss, TupletMarginLoss
from tests.losses import loops
from tests.losses.fixtures import F8, X


def test_value_by_hand():
    # Positives 60 degrees apart, eased by 15; each anchor's negatives at right angles or 30 degrees beyond.
    angles = torch.deg2rad(torch.tensor([0.0, 60.0, 150.0, 210.0], dtype=torch.float64))
    embeddings = torch.stack([angles.cos(), angles.sin()], dim=1)
    outer = [cos(radians(150)), cos(radians(150))]
    inner = [cos(radians(90)), cos(radians(150))]
    target = cos(radians(45))
    terms = [log(1 + sum(exp(4 * (c - target)) for c in others)) for others in (outer, inner)]
    value = TupletMarginLoss(margin=15.0, scale=4.0)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(loops.mean(terms), abs=1e-9)


def test_fixture_value():
    assert TupletMarginLoss()(X, F8).item() == pytest.approx(46.779231898, abs=1e-9)


def _term(s, a, p, far, margin, scale):
    target = cos(acos(s[a][p]) - radians(margin))
    return log(1 + sum(exp(scale * (s[a][n] - target)) for n in far))


@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_a_loop(labels):
    s = loops.cosines(X)
    terms = [_term(s, a, p, loops.negatives(labels, a), 20.0, 5.0) for a, p in loops.positive_pairs(labels)]
    loss = TupletMarginLoss(margin=20.0, scale=5.0)
    assert loss(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def test_without_a_margin_it_is_nt_xent():
    ours, theirs = (
        loops.gradient_of(loss, X, F8)
        for loss in (TupletMarginLoss(margin=0.0, scale=8.0), NtXentLoss(temperature=1 / 8))
    )
    assert ours[0] == pytest.approx(theirs[0], abs=1e-9)
    torch.testing.assert_close(ours[1], theirs[1])


def test_a_repeated_pair_counts_twice():
    triplets = Triplets(*(torch.tensor(index) for index in ([0, 0, 3], [1, 1, 4], [3, 5, 6])))
    s = loops.cosines(X)
    first, second = _term(s, 0, 1, [3, 5], 5.73, 64.0), _term(s, 3, 4, [6], 5.73, 64.0)
    assert TupletMarginLoss()(X, F8, triplets).item() == pytest.approx((2 * first + second) / 3, abs=1e-9)


def test_edges():
    loops.check_edges(TupletMarginLoss())
