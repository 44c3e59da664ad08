"""Losses published since 2020: values and gradients of the authors' codes, and what is true of each of them only."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from fairground.contracts.loss import Loss
from fairground.errors import InputError
from fairground.heads import SelfDistilledHead
from fairground.losses import self_distillation
from tests.losses.fixtures import F8B, X, build, gradient_of, on_fixture

FIELD = json.loads(Path(__file__).with_name("field_fixtures.json").read_text(encoding="utf-8"))


def numbers(name):
    return torch.tensor(FIELD[name], dtype=torch.float64)


LABELS, LEVELS_OF_ROWS = torch.tensor(FIELD["labels"]), torch.tensor(FIELD["hierarchy_labels"])
FINE = LEVELS_OF_ROWS[:, 0]
LEVELS = torch.stack([LEVELS_OF_ROWS[c == FINE][0] for c in range(int(FINE.max()) + 1)])


class Difference(Loss):
    """What a weight adds to a loss."""

    def __init__(self, name, setting, **settings):
        super().__init__()
        self.more, self.less = (build(name, **settings, **{setting: weight}) for weight in (1.0, 0.0))

    def formula(self, *inputs, generator):
        return self.more(*inputs) - self.less(*inputs)


class Relations(Loss):
    """The divergence from the cosines of a fixed teacher."""

    def formula(self, embeddings, *_, generator):
        return self_distillation.relation_divergence(embeddings, numbers("Z"), 1.0)


def hist(**settings):
    loss = build("hist", embedding_dim=8, **settings).double()
    loss.means.data.copy_(numbers("W"))
    loss.log_variances.data.zero_()
    return loss


BOTH = {"query_in_ranking": True}
CASES = {
    "hap_loss": (lambda: build("hierarchical_ap", levels=LEVELS, **BOTH), FINE),
    "roadmap_supap_general": (lambda: build("hierarchical_ap", **BOTH), LABELS),
    "roadmap_calibration": (lambda: Difference("hierarchical_ap", "calibration_weight", **BOTH), LABELS),
    "spherical_pairwise_ce": (lambda: build("pairwise_cross_entropy", reduction="sum"), LABELS),
    "hyperbolic_pairwise_ce": (
        lambda: build("pairwise_cross_entropy", distance="poincare", temperature=0.2, reduction="sum"),
        LABELS,
    ),
    "s2sd_relation_kl": (Relations, LABELS),
    "hist_distribution_part": (lambda: hist(hypergraph_weight=0.0), LABELS),
}


@pytest.mark.parametrize("batch", ["X", "XC"])
@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_are_those_of_the_authors_code(case, batch):
    loss, labels = CASES[case]
    value, gradient = gradient_of(loss(), numbers(batch), labels)
    stored = FIELD["cases"][case][batch]
    assert value == pytest.approx(stored["value"], abs=1e-9)
    torch.testing.assert_close(gradient, torch.tensor(stored["gradient"], dtype=torch.float64), rtol=0, atol=1e-9)


def test_relevances_are_those_of_the_authors_code():
    stored = FIELD["cases"]["hap_relevances"]
    shared = (LEVELS_OF_ROWS.unsqueeze(1) == LEVELS_OF_ROWS).sum(2)
    assert shared.tolist() == stored["level_matrix"]
    everyone = torch.ones_like(shared, dtype=torch.bool)
    found = build("hierarchical_ap").relevances(shared, everyone, 3, torch.float64)
    # That code divides levels by 2 where there are 3, which cancels in the loss.
    torch.testing.assert_close(1.5 * found, torch.tensor(stored["value"], dtype=torch.float64), rtol=0, atol=1e-7)


def test_memberships_are_those_of_the_authors_code():
    loss = hist()
    found = loss.memberships(loss.squared_distances(normalize(numbers("X"))), LABELS)
    torch.testing.assert_close(found, torch.tensor(FIELD["cases"]["hist_H"]["value"], dtype=torch.float64))


def test_without_variances_and_hypergraph_hist_is_a_normalised_softmax():
    loss = on_fixture("hist", hidden=4, hypergraph_weight=0.0, tau=4.0)
    loss.log_variances.data.zero_()
    same = on_fixture("normalised_softmax", temperature=1 / 8)
    assert loss(X, F8B).item() == pytest.approx(same(X, F8B).item(), abs=1e-12)


def test_in_classes_of_two_pairwise_cross_entropy_is_nt_xent():
    ours, theirs = (gradient_of(build(name, temperature=0.1), X, F8B) for name in ("pairwise_cross_entropy", "nt_xent"))
    assert ours[0] == pytest.approx(theirs[0], abs=1e-12)
    torch.testing.assert_close(ours[1], theirs[1])


def test_distances_in_the_ball_agree_with_the_arcosh_and_become_euclidean_for_a_small_curvature():
    loss = build("pairwise_cross_entropy", distance="poincare", epsilon=0.0, longest=1.0)
    v = X / X.norm(dim=1, keepdim=True).clamp_min(1)
    c, length = loss.curvature, v.norm(dim=1, keepdim=True)
    x = (c**0.5 * length).tanh() * v / (c**0.5 * length)
    room = 1 - c * x.square().sum(1)
    expected = (1 + 2 * c * torch.cdist(x, x).square() / (room.unsqueeze(1) * room)).arccosh() / c**0.5
    torch.testing.assert_close(loss.poincare_distances(X), expected, rtol=1e-9, atol=1e-6)
    loss.curvature = 1e-10
    torch.testing.assert_close(loss.poincare_distances(X), 2 * torch.cdist(v, v), rtol=1e-6, atol=1e-6)


def test_a_batch_beyond_one_block_costs_the_same(monkeypatch):
    whole = gradient_of(build("hierarchical_ap", levels=LEVELS), numbers("XC"), FINE)
    monkeypatch.setattr("fairground.functional.memory_blocks.BLOCK", 500)
    parts = gradient_of(build("hierarchical_ap", levels=LEVELS), numbers("XC"), FINE)
    assert parts[0] == pytest.approx(whole[0], abs=1e-12)
    torch.testing.assert_close(parts[1], whole[1])


def test_a_related_class_ahead_of_a_stranger_is_worth_something():
    points = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.96, 0.28], [0.0, 1.0]], dtype=torch.float64)
    levels = torch.tensor([[0, 0], [1, 0], [2, 1]])
    related, strange = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 0, 2, 1])
    loss = build("hierarchical_ap", levels=levels)
    assert loss(points, related) < loss(points, strange)


def distilled(**settings):
    """Return a head with two branches on three features, its loss, and a batch of features."""
    torch.manual_seed(0)
    head = SelfDistilledHead(n_features=3, embedding_dim=2, branches=(4, 5)).double()
    loss = build("self_distillation", embedding_dim=2, branches=head.branch_dims, loss="triplet", **settings)
    return head, loss, X[:, :3].clone()


def test_self_distillation_is_the_sum_of_its_parts():
    head, loss, features = distilled(weight=3.0, feature_weight=7.0, feature_start=1)
    wide = head(features)
    z, first, second, rest = wide.split([2, 4, 5, 3], 1)
    assert torch.equal(rest, features)
    triplet, divergence = build("triplet"), self_distillation.relation_divergence
    base = (triplet(z, F8B) + (triplet(first, F8B) + triplet(second, F8B)) / 2) / 2
    branches = 3 * (divergence(z, first, 1.0) + divergence(z, second, 1.0)) / 2
    assert loss(wide, F8B).item() == pytest.approx((base + branches).item(), abs=1e-12)
    # From the second step on the features teach too.
    expected = base + branches + 7 * divergence(z, features, 1.0)
    assert loss(wide, F8B).item() == pytest.approx(expected.item(), abs=1e-12)


def test_no_gradient_reaches_the_teacher_and_equal_relations_cost_nothing():
    teacher = X.clone().requires_grad_()
    value = self_distillation.relation_divergence(3 * X, teacher, 0.5)
    assert value.item() == pytest.approx(0, abs=1e-12)
    assert not value.requires_grad


def test_an_embedding_without_its_branches_is_refused():
    head, loss, features = distilled()
    with pytest.raises(InputError, match=r"takes embedding and branches side by side, 2 \+ 4 \+ 5 numbers; got 2"):
        loss(head.eval()(features), F8B)
