import pytest
import torch
from pytorch_metric_learning.regularizers import LpRegularizer

from fairground.regularisers.embedding_norm import EmbeddingNormRegulariser
from tests.losses.fixtures import X
from tests.regularisers.stand_in import NoLoss


def term(embeddings, **settings):
    labels = torch.zeros(len(embeddings), dtype=torch.long)
    return EmbeddingNormRegulariser(**settings).penalty(embeddings, labels, NoLoss())


def test_by_hand():
    embeddings = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
    assert float(term(embeddings, weight=0.1)) == pytest.approx(0.1 * (5 + 1) / 2)
    assert float(term(embeddings, weight=0.1, power=2)) == pytest.approx(0.1 * (25 + 1) / 2)


def test_fixture_norms():
    # 1.7378 1.4641 1.3630 1.4217 1.3084 1.8078 1.3337 1.3667
    assert float(term(X, weight=1.0)) == pytest.approx(11.8032 / 8, abs=5e-5)


def test_agrees_with_the_peer():
    assert float(term(X, weight=1.0)) == pytest.approx(float(LpRegularizer(p=2)(X)), abs=1e-12)
    assert float(term(X, weight=1.0, power=2)) == pytest.approx(float(LpRegularizer(p=2, power=2)(X)), abs=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_gradient_is_right_and_finite_at_zero(power):
    assert torch.autograd.gradcheck(lambda x: term(x, power=power), X.clone().requires_grad_(True))
    nothing = torch.zeros(3, 2, requires_grad=True)
    term(nothing, power=power).backward()
    assert torch.equal(nothing.grad, torch.zeros(3, 2))
