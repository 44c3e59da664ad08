"""The plan is drawn as said, and a step that follows it weighs the two label sets as equation 30 does."""

from collections import Counter

import pytest
import torch
from scipy import stats
from torch import nn

from fairground.contracts.model import Mixing, Trunk, mix
from fairground.losses.normalised_softmax import NormalisedSoftmaxLoss
from fairground.losses.triplet import TripletLoss
from fairground.miners.all_tuples import AllTuplesMiner
from fairground.regularisers.manifold_mixup import ManifoldMixupRegulariser
from tests.miners.oracle import all_triplets, assert_chances, evenly, seeded

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
