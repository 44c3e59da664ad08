import pytest
import torch
from pytorch_metric_learning.regularizers import ZeroMeanRegularizer

from fairground.regularisers.zero_mean import ZeroMeanRegulariser
from tests.losses.fixtures import X
from tests.regularisers.stand_in import NoLoss


def term(embeddings, weight=1.0):
    labels = torch.zeros(len(embeddings), dtype=torch.long)
    return ZeroMeanRegulariser(weight=weight).penalty(embeddings, labels, NoLoss())


def test_by_hand():
    # (3, 4) / 5 sums to 1.4; (1, -1) / sqrt 2 sums to 0.
    value = term(torch.tensor([[3.0, 4.0], [1.0, -1.0]], dtype=torch.float64), weight=0.5)
    assert float(value) == pytest.approx(0.5 * (1.4 + 0) / 2, abs=1e-12)


def test_fixture():
    assert float(term(X)) == pytest.approx(0.467565591, abs=1e-9)


def test_agrees_with_a_loop_and_with_the_peer():
    by_loop = sum(abs(float((row / row.norm()).sum())) for row in X) / 8
    assert float(term(X)) == pytest.approx(by_loop, abs=1e-12)
    theirs = ZeroMeanRegularizer()(torch.nn.functional.normalize(X))
    assert float(term(X)) == pytest.approx(float(theirs), abs=1e-12)


def test_gradient():
    assert torch.autograd.gradcheck(term, X.clone().requires_grad_(True))
