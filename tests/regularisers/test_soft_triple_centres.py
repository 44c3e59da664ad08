import math

import pytest
import torch

from fairground.errors import InputError
from fairground.losses.centre import CentreLoss
from fairground.losses.normalised_softmax import NormalisedSoftmaxLoss
from fairground.losses.soft_triple import SoftTripleLoss
from fairground.regularisers.soft_triple_centres import SoftTripleCentresRegulariser
from tests.losses.fixtures import CENTRES, F8, X


def loss_with(centres):
    n_classes, n_centres, dimension = centres.shape
    loss = SoftTripleLoss(
        n_classes=n_classes, embedding_dim=dimension, n_centres=n_centres, scale=8, gamma=0.1, margin=0.01, reg_weight=0
    ).double()
    loss.centres.data = centres.clone()
    return loss


def term(centres, **settings):
    return SoftTripleCentresRegulariser(**settings).penalty(X, F8, loss_with(centres))


def test_by_hand():
    # One class of two centres at a right angle: sqrt 2 / (1 * 2 * 1), or sqrt 2 over one pair.
    centres = torch.tensor([[[2.0, 0.0], [0.0, 3.0]]], dtype=torch.float64)
    assert term(centres, weight=1.0).item() == pytest.approx(math.sqrt(2) / 2)
    assert term(centres, weight=1.0, divisor="pairs").item() == pytest.approx(math.sqrt(2))


def test_fixture():
    assert term(CENTRES, weight=1.0).item() == pytest.approx(0.603899101, abs=1e-9)
    assert term(CENTRES, weight=1.0, divisor="pairs").item() == pytest.approx(1.207798202, abs=1e-9)


def test_makes_up_for_the_term_the_loss_leaves_out():
    loss = loss_with(CENTRES)
    value = loss(X, F8) + SoftTripleCentresRegulariser(weight=0.2).penalty(X, F8, loss)
    assert value.item() == pytest.approx(3.000034243, abs=1e-9)


def test_draws_the_centres_of_a_class_together():
    loss = loss_with(CENTRES)
    SoftTripleCentresRegulariser().penalty(X, F8, loss).backward()
    before = term(loss.centres.detach()).item()
    assert term(loss.centres.detach() - 0.1 * loss.centres.grad).item() < before


@pytest.mark.parametrize("kind", [NormalisedSoftmaxLoss, CentreLoss])
def test_losses_without_several_centres_are_refused(kind):
    loss = kind(n_classes=3, embedding_dim=4)
    with pytest.raises(InputError, match=rf"needs a loss with several centres per class.*{kind.__name__} has none"):
        SoftTripleCentresRegulariser().check_loss(loss)
    with pytest.raises(InputError, match=rf"{kind.__name__} has none"):
        SoftTripleCentresRegulariser().penalty(X, F8, loss)
