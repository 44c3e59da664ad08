"""Losses published since 2020: what is true of each of them only."""

import pytest
import torch

from fairground.errors import InputError
from fairground.heads import SelfDistilledHead
from fairground.losses import self_distillation
from tests.losses.fixtures import F8B, X, build, gradient_of, on_fixture
from tests.losses.test_field_values import FINE, LEVELS, numbers


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
