from math import exp, log

import pytest
import torch

from fairground.losses import NcaLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    # A positive at distance 0 and two negatives at a squared distance of 2.
    embeddings = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 1.0]])
    value = NcaLoss(scale=0.5)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(-log(1 / (1 + 2 * exp(-0.5 * 2))), abs=1e-6)


def test_fixture_value():
    assert NcaLoss()(X, F8).item() == pytest.approx(1.796189594, abs=1e-9)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("scale", [0.3, 4.0])
def test_agrees_with_a_loop(labels, scale):
    d = loops.distances(X)
    terms = []
    for i in range(8):
        weight = [exp(-scale * d[i][k] ** 2) if k != i else 0 for k in range(8)]
        if loops.positives(labels, i):
            terms.append(-log(sum(weight[p] for p in loops.positives(labels, i)) / sum(weight)))
    assert NcaLoss(scale=scale)(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-12)


def test_a_chance_too_small_for_float32_still_teaches():
    value, gradient = loops.gradient_of(NcaLoss(scale=200.0), X.float(), F8B)
    exact, _ = loops.gradient_of(NcaLoss(scale=200.0), X, F8B)
    assert value > 100
    assert value == pytest.approx(exact, rel=1e-5)
    assert gradient.norm() > 1


def test_edges():
    loops.check_edges(NcaLoss())
    loops.check_edges(NcaLoss(scale=100.0))
