from math import exp, log, log1p, sqrt

import pytest
import torch

from fairground.contracts.loss import Triplets
from fairground.losses import TripletLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, T8B, X


def test_value_by_hand():
    # Right angles on the circle: the positive is sqrt(2) away, the negatives sqrt(2) and 2.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]])
    labels = torch.tensor([4, 4, 9])
    # From the first sample: sqrt(2) - 2 + 1; from the second: sqrt(2) - sqrt(2) + 1.
    value = TripletLoss(margin=1)(embeddings, labels)
    assert value.item() == pytest.approx((sqrt(2) - 1 + 1) / 2, abs=1e-6)
    # Squared: 2 - 4 + 1 is below 0, 2 - 2 + 1 is not.
    assert TripletLoss(margin=1, power=2)(embeddings, labels).item() == pytest.approx(1, abs=1e-6)
    halved = TripletLoss(margin=1, power=2, reduction="mean_all")(embeddings, labels)
    assert halved.item() == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("power", "labels", "value"),
    [(1, F8, 0.619694998), (2, F8, 1.259717285), (1, F8B, 0.488282968), (2, F8B, 0.892374439)],
)
def test_fixture_values(power, labels, value):
    assert TripletLoss(margin=0.2, power=power)(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("power", "value"), [(1, 0.082858603), (2, 0.119827840)])
def test_fixture_values_on_mined_triplets(power, value):
    loss = TripletLoss(margin=0.2, power=power, reduction="mean_all")
    assert loss(X, F8B, T8B).item() == pytest.approx(value, abs=1e-9)


def _excesses(labels: torch.Tensor, *, margin: float, power: int, swap: bool) -> list[float]:
    d = loops.distances(X)
    return [
        d[a][p] ** power - (min(d[a][n], d[p][n]) if swap else d[a][n]) ** power + margin
        for a, p in loops.positive_pairs(labels)
        for n in loops.negatives(labels, a)
    ]


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("reduction", ["mean_nz", "mean_all"])
@pytest.mark.parametrize("labels", loops.LABELS)
def test_agrees_with_a_loop(labels, reduction, power, swap):
    hinges = [max(0.0, excess) for excess in _excesses(labels, margin=0.3, power=power, swap=swap)]
    mean = loops.mean_nonzero if reduction == "mean_nz" else loops.mean
    loss = TripletLoss(margin=0.3, power=power, reduction=reduction, swap=swap)
    assert loss(X, labels).item() == pytest.approx(mean(hinges), abs=1e-12)


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("labels", loops.LABELS)
def test_smooth_agrees_with_a_loop(labels, power, swap):
    terms = [log1p(exp(excess)) for excess in _excesses(labels, margin=0.3, power=power, swap=swap)]
    loss = TripletLoss(margin=0.3, power=power, swap=swap, smooth=True)
    assert loss(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


@pytest.mark.parametrize(
    "settings",
    [{}, {"power": 2}, {"swap": True}, {"smooth": True}, {"swap": True, "power": 2, "reduction": "mean_all"}],
)
def test_mining_every_triplet_is_no_mining(settings):
    triplets = [(a, p, n) for a, p in loops.positive_pairs(F8) for n in loops.negatives(F8, a)]
    mined = Triplets(*torch.tensor(triplets).unbind(1))
    ours, theirs = (loops.gradient_of(TripletLoss(**settings), X, F8, tuples) for tuples in (None, mined))
    assert ours[0] == pytest.approx(theirs[0], abs=1e-12)
    torch.testing.assert_close(ours[1], theirs[1])


def test_a_tie_under_swap_is_shared():
    # The negative is as far from the anchor as from the positive: mirror images.
    embeddings = torch.tensor([[0.6, 0.8], [0.6, -0.8], [1.0, 0.0]], dtype=torch.float64)
    _, gradient = loops.gradient_of(TripletLoss(margin=1, swap=True), embeddings, torch.tensor([0, 0, 1]))
    torch.testing.assert_close(gradient[0], gradient[1] * torch.tensor([1, -1]))
    assert gradient[2].abs().max() < 1e-12


def test_a_switched_triplet_attracts_nothing():
    switched = Triplets(torch.tensor([0]), torch.tensor([0]), torch.tensor([1]))
    value, gradient = loops.gradient_of(TripletLoss(margin=1.2), X, F8, switched)
    assert value == pytest.approx(1.2 - loops.distances(X)[0][1], abs=1e-12)
    assert gradient[:2].norm(dim=1).gt(0).all()
    assert not gradient[2:].any()


def test_smooth_of_nothing_gained_is_the_logarithm_of_two():
    # All alike: every excess is the margin, 0.
    same = torch.ones(4, 3, dtype=torch.float64)
    value = TripletLoss(margin=0, smooth=True)(same, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(log(2), abs=1e-12)


@pytest.mark.parametrize("settings", [{}, {"power": 2}, {"swap": True}, {"smooth": True}])
def test_edges(settings):
    loops.check_edges(TripletLoss(**settings))


def test_a_class_of_hundreds_is_searched_and_not_compared():
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(300, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(2, (300,), generator=generator)
    plain = loops.gradient_of(TripletLoss(), embeddings, labels)
    # A swap that never applies: the same triplets, one column of positives at a time.
    d = torch.cdist(*(torch.nn.functional.normalize(embeddings),) * 2)
    same = labels.unsqueeze(1) == labels
    hinges = (d.unsqueeze(2) - d.unsqueeze(1) + 0.1).relu()
    valid = (same & ~torch.eye(300, dtype=torch.bool)).unsqueeze(2) & ~same.unsqueeze(1)
    hinges = hinges[valid]
    assert plain[0] == pytest.approx((hinges.sum() / (hinges > 0).sum()).item(), abs=1e-10)
