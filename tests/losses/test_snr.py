from statistics import fmean, pvariance

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.errors import InputError
from fairground.losses import SnrLoss, TripletLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, T8B, X


def _units() -> list[list[float]]:
    return [[value / sum(other**2 for other in row) ** 0.5 for value in row] for row in X.tolist()]


def _ratios() -> list[list[float]]:
    z = _units()
    return [[pvariance([b - a for a, b in zip(u, v, strict=True)]) / pvariance(u) for v in z] for u in z]


def test_value_by_hand():
    # Each has variance 1/4, their difference (1, -1) has variance 1.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert SnrLoss()(embeddings, torch.tensor([0, 0])).item() == pytest.approx(4, abs=1e-6)
    assert SnrLoss(positive_margin=1)(embeddings, torch.tensor([0, 0])).item() == pytest.approx(3, abs=1e-6)
    assert SnrLoss()(embeddings, torch.tensor([0, 1])).item() == 0
    assert SnrLoss(negative_margin=5)(embeddings, torch.tensor([0, 1])).item() == pytest.approx(1, abs=1e-6)


def test_fixture_values():
    assert SnrLoss()(X, F8).item() == pytest.approx(2.528093856, abs=1e-9)
    assert SnrLoss(form="triplet")(X, F8B).item() == pytest.approx(0.899984866, abs=1e-9)
    assert SnrLoss(form="triplet")(X, F8B, T8B).item() == pytest.approx(0.394957115, abs=1e-9)
    weighed = SnrLoss(form="triplet", zero_mean_weight=0.005)
    assert weighed(X, F8B, T8B).item() == pytest.approx(0.397294943, abs=1e-9)
    zero_mean = SnrLoss(zero_mean_weight=1.0)(X, F8) - SnrLoss()(X, F8)
    assert zero_mean.item() == pytest.approx(0.467565591, abs=1e-9)


@pytest.mark.parametrize("reduction", ["mean_nz", "mean_all"])
@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_loops(labels, reduction):
    snr = _ratios()
    mean = loops.mean_nonzero if reduction == "mean_nz" else loops.mean
    near = [max(0.0, snr[a][p] - 0.5) for a, p in loops.positive_pairs(labels)]
    far = [max(0.0, 1.5 - snr[a][n]) for a in range(8) for n in loops.negatives(labels, a)]
    loss = SnrLoss(positive_margin=0.5, negative_margin=1.5, reduction=reduction)
    assert loss(X, labels).item() == pytest.approx(mean(near) + mean(far), abs=1e-11)
    hinges = [
        max(0.0, snr[a][p] - snr[a][n] + 0.2)
        for a, p in loops.positive_pairs(labels)
        for n in loops.negatives(labels, a)
    ]
    loss = SnrLoss(form="triplet", reduction=reduction)
    assert loss(X, labels).item() == pytest.approx(mean(hinges), abs=1e-11)


def test_the_zero_mean_term_is_about_eligible_anchors_in_the_triplet_form():
    sums = [abs(sum(row)) for row in _units()]
    with_term, without = (SnrLoss(form="triplet", zero_mean_weight=weight) for weight in (1.0, 0.0))
    # The last sample is alone in its class and anchors no triplet.
    assert (with_term(X, F8) - without(X, F8)).item() == pytest.approx(fmean(sums[:7]), abs=1e-12)


@pytest.mark.parametrize("settings", [{}, {"form": "triplet"}, {"form": "triplet", "reduction": "mean_all"}])
def test_mining_everything_is_no_mining(settings):
    loss = SnrLoss(**settings)
    if loss.form == "triplet":
        found = torch.tensor([(a, p, n) for a, p in loops.positive_pairs(F8) for n in loops.negatives(F8, a)])
        tuples = Triplets(*found.unbind(1))
    else:
        near = torch.tensor(loops.positive_pairs(F8))
        far = torch.tensor([(a, n) for a in range(8) for n in loops.negatives(F8, a)])
        tuples = Pairs(*near.unbind(1), *far.unbind(1))
    ours, theirs = (loops.gradient_of(loss, X, F8, chosen) for chosen in (None, tuples))
    assert ours[0] == pytest.approx(theirs[0], abs=1e-12)
    torch.testing.assert_close(ours[1], theirs[1])


def test_without_centring_it_would_be_the_squared_triplet_loss():
    # Unit vectors whose coordinates sum to 0 need no centring, and all have the same variance.
    centred = X - X.mean(1, keepdim=True)
    ours = SnrLoss(form="triplet", margin=0.2)(centred, F8B)
    assert ours.item() == pytest.approx(TripletLoss(margin=0.2, power=2)(centred, F8B).item(), abs=1e-12)


def test_a_switched_triplet_attracts_nothing():
    switched = Triplets(torch.tensor([0]), torch.tensor([0]), torch.tensor([5]))
    value, gradient = loops.gradient_of(SnrLoss(form="triplet", margin=1.0), X, F8, switched)
    assert value == pytest.approx(1 - _ratios()[0][5], abs=1e-12)
    assert gradient[[0, 5]].norm(dim=1).gt(0).all()


def test_edges():
    snr = [value for a, row in enumerate(_ratios()) for b, value in enumerate(row) if a != b]
    of_negatives, of_positives = loops.mean([1 - value for value in snr if value < 1]), loops.mean(snr)
    assert (of_negatives, of_positives) == pytest.approx((0.4764, 2.1627), abs=1e-4)
    loops.check_edges(SnrLoss(), no_positives=of_negatives, one_class=of_positives)
    loops.check_edges(SnrLoss(form="triplet", zero_mean_weight=0.1))


def test_a_constant_vector_has_a_finite_loss():
    embeddings = X.clone()
    embeddings[0] = 1.0
    for form in ("contrastive", "triplet"):
        value, gradient = loops.gradient_of(SnrLoss(form=form), embeddings, F8)
        assert value < torch.inf
        assert gradient.isfinite().all()


def test_only_the_contrastive_form_takes_pairs():
    pairs = Pairs(*(torch.tensor([index]) for index in (0, 1, 0, 3)))
    assert SnrLoss()(X, F8, pairs).item() > 0
    with pytest.raises(InputError, match="SnrLoss takes Triplets from a miner; got Pairs"):
        SnrLoss(form="triplet")(X, F8, pairs)
