"""Penalties by hand and on the fixture; switched tuples and mixed batches with the chances they declare."""

import math
from collections import Counter

import pytest
import torch
from scipy import stats
from torch import nn

from fairground.contracts import Loss, Mixing, Pairs, Triplets, Trunk, mix
from fairground.errors import InputError
from fairground.functional import memory_blocks
from fairground.losses import CentreLoss, NormalisedSoftmaxLoss, SoftTripleLoss, TripletLoss
from fairground.miners.all_tuples import AllTuplesMiner
from fairground.regularisers import EmbeddingNormRegulariser, RhoRegulariser, ZeroMeanRegulariser
from fairground.regularisers.manifold_mixup import ManifoldMixupRegulariser
from fairground.regularisers.soft_triple_centres import SoftTripleCentresRegulariser
from fairground.regularisers.threshold_consistent_margin import ThresholdConsistentMarginRegulariser
from tests.losses.fixtures import CENTRES, F8, F8B, T8B, X
from tests.miners.oracle import all_triplets, assert_chances, evenly, positives_of, seeded, triplet_list


class NoLoss(Loss):
    """A loss for penalties that do not look at it."""

    def formula(self, embeddings, labels, tuples, *, generator):
        return embeddings.sum() * 0


def embedding_norm_term(embeddings, **settings):
    labels = torch.zeros(len(embeddings), dtype=torch.long)
    return EmbeddingNormRegulariser(**settings).penalty(embeddings, labels, NoLoss())


def test_by_hand_of_embedding_norm():
    embeddings = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
    assert float(embedding_norm_term(embeddings, weight=0.1)) == pytest.approx(0.1 * (5 + 1) / 2)
    assert float(embedding_norm_term(embeddings, weight=0.1, power=2)) == pytest.approx(0.1 * (25 + 1) / 2)


def test_fixture_norms():
    # 1.7378 1.4641 1.3630 1.4217 1.3084 1.8078 1.3337 1.3667
    assert float(embedding_norm_term(X, weight=1.0)) == pytest.approx(11.8032 / 8, abs=5e-5)


@pytest.mark.parametrize("power", [1, 2])
def test_gradient_is_right_and_finite_at_zero(power):
    assert torch.autograd.gradcheck(lambda x: embedding_norm_term(x, power=power), X.clone().requires_grad_(True))
    nothing = torch.zeros(3, 2, requires_grad=True)
    embedding_norm_term(nothing, power=power).backward()
    assert torch.equal(nothing.grad, torch.zeros(3, 2))


def loss_with(centres):
    n_classes, n_centres, dimension = centres.shape
    loss = SoftTripleLoss(
        n_classes=n_classes, embedding_dim=dimension, n_centres=n_centres, scale=8, gamma=0.1, margin=0.01, reg_weight=0
    ).double()
    loss.centres.data = centres.clone()
    return loss


def soft_triple_centres_term(centres, **settings):
    return SoftTripleCentresRegulariser(**settings).penalty(X, F8, loss_with(centres))


def test_by_hand_of_soft_triple_centres():
    # One class of two centres at a right angle: sqrt 2 / (1 * 2 * 1), or sqrt 2 over one pair.
    centres = torch.tensor([[[2.0, 0.0], [0.0, 3.0]]], dtype=torch.float64)
    assert soft_triple_centres_term(centres, weight=1.0).item() == pytest.approx(math.sqrt(2) / 2)
    assert soft_triple_centres_term(centres, weight=1.0, divisor="pairs").item() == pytest.approx(math.sqrt(2))


def test_fixture_of_soft_triple_centres():
    assert soft_triple_centres_term(CENTRES, weight=1.0).item() == pytest.approx(0.603899101, abs=1e-9)
    assert soft_triple_centres_term(CENTRES, weight=1.0, divisor="pairs").item() == pytest.approx(1.207798202, abs=1e-9)


def test_makes_up_for_the_term_the_loss_leaves_out():
    loss = loss_with(CENTRES)
    value = loss(X, F8) + SoftTripleCentresRegulariser(weight=0.2).penalty(X, F8, loss)
    assert value.item() == pytest.approx(3.000034243, abs=1e-9)


@pytest.mark.parametrize("kind", [NormalisedSoftmaxLoss, CentreLoss])
def test_losses_without_several_centres_are_refused(kind):
    loss = kind(n_classes=3, embedding_dim=4)
    with pytest.raises(InputError, match=rf"needs a loss with several centres per class.*{kind.__name__} has none"):
        SoftTripleCentresRegulariser().check_loss(loss)
    with pytest.raises(InputError, match=rf"{kind.__name__} has none"):
        SoftTripleCentresRegulariser().penalty(X, F8, loss)


def consistent_margin_term(embeddings, labels, **settings):
    return ThresholdConsistentMarginRegulariser(**settings).penalty(embeddings, labels, NoLoss())


def test_by_hand_of_the_threshold_consistent_margin():
    # Positive pairs have cosines 0.8 and 0.96, of which the first is below 0.9; negatives 0, 0.6, 0.28 and 0.8.
    embeddings = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.0, 2.0], [0.28, 0.96]], dtype=torch.float64)
    labels = torch.tensor([0, 0, 1, 1])
    assert consistent_margin_term(embeddings, labels).item() == pytest.approx(0.1 + ((0.6 - 0.5) + (0.8 - 0.5)) / 2)
    only = {"positive_weight": 0.0, "negative_weight": 3.0, "negative_margin": 0.7}
    assert consistent_margin_term(embeddings, labels, **only).item() == pytest.approx(3 * (0.8 - 0.7))
    assert consistent_margin_term(embeddings, labels, positive_margin=0.7, negative_margin=0.9).item() == 0


@pytest.mark.parametrize("labels", [F8, F8B, torch.arange(8), torch.zeros(8, dtype=torch.long)])
def test_the_threshold_consistent_margin_agrees_with_a_loop_also_in_blocks(labels, monkeypatch):
    near, far = [], []
    for i in range(8):
        for j in range(8):
            cosine = float(X[i] @ X[j] / X[i].norm() / X[j].norm())
            if i != j and labels[i] == labels[j] and cosine <= 0.9:
                near.append(0.9 - cosine)
            if labels[i] != labels[j] and cosine >= 0.5:
                far.append(cosine - 0.5)
    by_loop = sum(near) / max(1, len(near)) + sum(far) / max(1, len(far))
    assert consistent_margin_term(X, labels).item() == pytest.approx(by_loop, abs=1e-12)
    monkeypatch.setattr(memory_blocks, "LARGEST_MATRIX", 10)
    monkeypatch.setattr(memory_blocks, "COMPARISONS", 24)
    assert consistent_margin_term(X, labels).item() == pytest.approx(by_loop, abs=1e-12)
    assert torch.autograd.gradcheck(lambda x: consistent_margin_term(x, labels), X.clone().requires_grad_(True))


def zero_mean_term(embeddings, weight=1.0):
    labels = torch.zeros(len(embeddings), dtype=torch.long)
    return ZeroMeanRegulariser(weight=weight).penalty(embeddings, labels, NoLoss())


def test_by_hand_of_zero_mean():
    # (3, 4) / 5 sums to 1.4; (1, -1) / sqrt 2 sums to 0.
    value = zero_mean_term(torch.tensor([[3.0, 4.0], [1.0, -1.0]], dtype=torch.float64), weight=0.5)
    assert float(value) == pytest.approx(0.5 * (1.4 + 0) / 2, abs=1e-12)


def test_fixture_of_zero_mean():
    assert float(zero_mean_term(X)) == pytest.approx(0.467565591, abs=1e-9)


def test_agrees_with_a_loop():
    by_loop = sum(abs(float((row / row.norm()).sum())) for row in X) / 8
    assert float(zero_mean_term(X)) == pytest.approx(by_loop, abs=1e-12)


def test_gradient():
    assert torch.autograd.gradcheck(zero_mean_term, X.clone().requires_grad_(True))


EVERY_ANCHOR_SWITCHED = {
    "code": [(i, i, i ^ 1) for i in range(8)],
    "replace": [(i, i ^ 1, i ^ 1) for i in range(8)],
    "swap": [(a, n, p) for a, p, n in triplet_list(T8B)],
}


@pytest.mark.parametrize("reading", EVERY_ANCHOR_SWITCHED)
def test_three_readings_of_one_switch(reading):
    # In classes of two, row i's only positive is row i with its last bit turned.
    changed = RhoRegulariser(p_switch=1, reading=reading).change_tuples(T8B, F8B, generator=seeded())
    assert triplet_list(changed) == EVERY_ANCHOR_SWITCHED[reading]
    unchanged = RhoRegulariser(p_switch=0, reading=reading).change_tuples(T8B, F8B, generator=seeded())
    assert triplet_list(unchanged) == triplet_list(T8B)


@pytest.mark.parametrize("reading", ["code", "replace", "swap"])
def test_the_triplets_of_an_anchor_switch_together_and_anchors_independently(reading):
    triplets = Triplets(torch.tensor([0, 0, 0, 3, 3]), torch.tensor([1, 2, 1, 4, 4]), torch.tensor([3, 4, 5, 0, 5]))
    generator = seeded(1)
    seen: Counter[int] = Counter()
    for _ in range(600):
        changed = RhoRegulariser(p_switch=0.3, reading=reading).change_tuples(triplets, F8, generator=generator)
        is_changed = (changed.negative != triplets.negative).tolist()
        assert is_changed[0] == is_changed[1] == is_changed[2]
        assert is_changed[3] == is_changed[4]
        assert torch.equal(changed.anchor, triplets.anchor)
        seen[is_changed[0] * 2 + is_changed[3]] += 1
    assert_chances(seen, {0: 0.49, 1: 0.21, 2: 0.21, 3: 0.09})


def test_the_pushed_positive_is_drawn_evenly():
    labels = torch.tensor([0, 0, 0, 0, 1])
    triplets = Triplets(torch.zeros(4000, dtype=torch.long), torch.ones(4000, dtype=torch.long), torch.full((4000,), 4))
    changed = RhoRegulariser(p_switch=1).change_tuples(triplets, labels, generator=seeded())
    assert_chances(Counter(changed.negative.tolist()), evenly(positives_of(labels, 0)))


@pytest.mark.parametrize("reading", ["code", "replace", "swap"])
def test_an_anchor_without_positives_keeps_its_triplets(reading):
    # Such a triplet can only come from outside: row 7 is alone in its class, last in the batch's order.
    triplets = Triplets(torch.tensor([7, 0]), torch.tensor([7, 1]), torch.tensor([0, 3]))
    changed = RhoRegulariser(p_switch=1, reading=reading).change_tuples(triplets, F8, generator=seeded())
    assert triplet_list(changed)[0] == (7, 7, 0)
    assert triplet_list(changed)[1] != (0, 1, 3)


def test_refusals():
    with pytest.raises(InputError, match=r"rho.p_switch must be in \[0, 1\].*got -0.1"):
        RhoRegulariser(p_switch=-0.1)
    with pytest.raises(InputError, match=r"rho.reading must be 'code', 'replace' or 'swap'; got 'paper'"):
        RhoRegulariser(reading="paper")
    nothing = torch.empty(0, dtype=torch.long)
    with pytest.raises(InputError, match=r"regulariser rho changes triplets, and this miner gives pairs"):
        RhoRegulariser().change_tuples(Pairs(nothing, nothing, nothing, nothing), F8)
    with pytest.raises(InputError, match=r"regulariser rho changes triplets; NormalisedSoftmaxLoss takes none"):
        RhoRegulariser().check_loss(NormalisedSoftmaxLoss(n_classes=2, embedding_dim=2))


LABELS = torch.tensor([0, 0, 1, 1, 2, 2])


class ThreeStages(Trunk):
    def __init__(self):
        super().__init__()
        self.n_features = 3
        self.stages = nn.ModuleList([nn.Linear(4, 5), nn.Sequential(nn.Tanh(), nn.Linear(5, 5)), nn.Linear(5, 3)])


def network():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ThreeStages().double()


def images():
    return torch.randn(6, 4, generator=seeded(1), dtype=torch.float64)


def plans(count=2000, **settings):
    generator = seeded()
    return [ManifoldMixupRegulariser(**settings).plan_mixing(6, 3, generator=generator) for _ in range(count)]


@pytest.mark.parametrize("alpha", [0.5, 2.0])
def test_the_blend_is_beta_distributed(alpha):
    weights = [plan.weight for plan in plans(alpha=alpha)]
    assert stats.kstest(weights, stats.beta(alpha, alpha).cdf).pvalue > 1e-3


def test_every_stage_is_as_likely_and_partners_are_a_permutation():
    drawn = plans()
    assert_chances(Counter(plan.stage for plan in drawn), evenly(range(3)))
    assert all(sorted(plan.partner.tolist()) == list(range(6)) for plan in drawn)
    assert_chances(Counter(int(plan.partner[0]) for plan in drawn), evenly(range(6)))


def test_mix_by_hand():
    mixing = Mixing(weight=0.25, partner=torch.tensor([1, 0]), stage=0)
    assert mix(torch.tensor([[4.0], [8.0]]), mixing).tolist() == [[7.0], [5.0]]


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_the_network_mixes_before_the_planned_stage(stage):
    net, x = network(), images()
    mixing = Mixing(weight=0.3, partner=torch.tensor([5, 4, 3, 2, 1, 0]), stage=stage)
    hidden = x
    for number, layer in enumerate(net.stages):
        if number == stage:
            hidden = torch.stack([0.3 * hidden[i] + 0.7 * hidden[5 - i] for i in range(6)])
        hidden = layer(hidden)
    assert torch.allclose(net(x, mixing), hidden, atol=1e-12)


def mixed_step(loss, miner=None):
    """Follow a plan as the contract says, and return what went in and what came out."""
    mixing = ManifoldMixupRegulariser().plan_mixing(6, 3, generator=seeded(8))
    embeddings = network()(images(), mixing)
    values = []
    for labels in (LABELS, LABELS[mixing.partner]):
        tuples = None if miner is None else miner(embeddings, labels)
        values.append(loss(embeddings, labels, tuples))
    return mixing, embeddings, mixing.weight * values[0] + (1 - mixing.weight) * values[1]


def test_a_ranking_loss_weighs_the_triplets_of_either_label():
    mixing, embeddings, value = mixed_step(TripletLoss(margin=0.5, reduction="mean_all"), AllTuplesMiner())
    z = torch.nn.functional.normalize(embeddings.detach())
    by_hand = 0.0
    for share, labels in ((mixing.weight, LABELS), (1 - mixing.weight, LABELS[mixing.partner])):
        triplets = all_triplets(labels)
        terms = [max(0.0, float((z[a] - z[p]).norm() - (z[a] - z[n]).norm() + 0.5)) for a, p, n in triplets]
        by_hand += share * sum(terms) / len(triplets)
    assert 0 < mixing.weight < 1
    assert value.item() == pytest.approx(by_hand, abs=1e-12)
    value.backward()


def test_a_softmax_loss_gets_ordinary_mixup():
    loss = NormalisedSoftmaxLoss(n_classes=3, embedding_dim=3, temperature=0.5).double()
    mixing, embeddings, value = mixed_step(loss)
    weights = torch.nn.functional.normalize(loss.weights)
    logits = torch.nn.functional.normalize(embeddings) @ weights.T / 0.5
    own, partners = (nn.functional.one_hot(labels, 3).double() for labels in (LABELS, LABELS[mixing.partner]))
    soft = mixing.weight * own + (1 - mixing.weight) * partners
    assert value.item() == pytest.approx(nn.functional.cross_entropy(logits, soft).item(), abs=1e-12)
