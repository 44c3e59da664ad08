"""Penalties on embeddings and centres: by hand, on the fixture, and against the peer."""

import math

import pytest
import torch
from pytorch_metric_learning.regularizers import LpRegularizer, ZeroMeanRegularizer

from fairground.contracts.loss import Loss
from fairground.errors import InputError
from fairground.losses.centre import CentreLoss
from fairground.losses.normalised_softmax import NormalisedSoftmaxLoss
from fairground.losses.soft_triple import SoftTripleLoss
from fairground.regularisers.embedding_norm import EmbeddingNormRegulariser
from fairground.regularisers.soft_triple_centres import SoftTripleCentresRegulariser
from fairground.regularisers.zero_mean import ZeroMeanRegulariser
from tests.losses.fixtures import CENTRES, F8, X


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


def test_agrees_with_the_peer():
    assert float(embedding_norm_term(X, weight=1.0)) == pytest.approx(float(LpRegularizer(p=2)(X)), abs=1e-12)
    assert float(embedding_norm_term(X, weight=1.0, power=2)) == pytest.approx(
        float(LpRegularizer(p=2, power=2)(X)), abs=1e-12
    )


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


def test_draws_the_centres_of_a_class_together():
    loss = loss_with(CENTRES)
    SoftTripleCentresRegulariser().penalty(X, F8, loss).backward()
    before = soft_triple_centres_term(loss.centres.detach()).item()
    assert soft_triple_centres_term(loss.centres.detach() - 0.1 * loss.centres.grad).item() < before


@pytest.mark.parametrize("kind", [NormalisedSoftmaxLoss, CentreLoss])
def test_losses_without_several_centres_are_refused(kind):
    loss = kind(n_classes=3, embedding_dim=4)
    with pytest.raises(InputError, match=rf"needs a loss with several centres per class.*{kind.__name__} has none"):
        SoftTripleCentresRegulariser().check_loss(loss)
    with pytest.raises(InputError, match=rf"{kind.__name__} has none"):
        SoftTripleCentresRegulariser().penalty(X, F8, loss)


def zero_mean_term(embeddings, weight=1.0):
    labels = torch.zeros(len(embeddings), dtype=torch.long)
    return ZeroMeanRegulariser(weight=weight).penalty(embeddings, labels, NoLoss())


def test_by_hand_of_zero_mean():
    # (3, 4) / 5 sums to 1.4; (1, -1) / sqrt 2 sums to 0.
    value = zero_mean_term(torch.tensor([[3.0, 4.0], [1.0, -1.0]], dtype=torch.float64), weight=0.5)
    assert float(value) == pytest.approx(0.5 * (1.4 + 0) / 2, abs=1e-12)


def test_fixture_of_zero_mean():
    assert float(zero_mean_term(X)) == pytest.approx(0.467565591, abs=1e-9)


def test_agrees_with_a_loop_and_with_the_peer():
    by_loop = sum(abs(float((row / row.norm()).sum())) for row in X) / 8
    assert float(zero_mean_term(X)) == pytest.approx(by_loop, abs=1e-12)
    theirs = ZeroMeanRegularizer()(torch.nn.functional.normalize(X))
    assert float(zero_mean_term(X)) == pytest.approx(float(theirs), abs=1e-12)


def test_gradient():
    assert torch.autograd.gradcheck(zero_mean_term, X.clone().requires_grad_(True))
