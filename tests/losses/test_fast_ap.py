import pytest
import torch

from fairground.losses import FastApLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    # Nodes 0, 2, 4. Each anchor has its positive at a squared distance of 2 and negatives at 2 and 4, or 4 and 2.
    embeddings = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    # At node 2 there stand the positive and one negative: precision 1/2 for the one positive.
    value = FastApLoss(bins=2)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx(1 - 1 / 2, abs=1e-6)


@pytest.mark.parametrize(("labels", "value"), [(F8, 0.707415039), (F8B, 0.700298569)])
def test_fixture_values(labels, value):
    assert FastApLoss(bins=10)(X, labels).item() == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("bins", [2, 10, 27])
def test_agrees_with_a_loop(labels, bins):
    d = loops.distances(X)
    terms = []
    for i in range(8):
        near, everyone = loops.positives(labels, i), [j for j in range(8) if j != i]

        def weights(others, i=i):
            return [
                sum(max(0, 1 - abs(d[i][j] ** 2 - 4 * node / bins) * bins / 4) for j in others)
                for node in range(bins + 1)
            ]

        of_near, of_all = weights(near), weights(everyone)
        if near:
            total = sum(
                of_near[node] * sum(of_near[: node + 1]) / sum(of_all[: node + 1])
                for node in range(bins + 1)
                if sum(of_all[: node + 1]) > 0
            )
            terms.append(1 - total / len(near))
    assert FastApLoss(bins=bins)(X, labels).item() == pytest.approx(loops.mean(terms), abs=1e-9)


@pytest.mark.parametrize("bins", [2, 10, 250])
def test_edges(bins):
    loops.check_edges(FastApLoss(bins=bins))


def test_perfect_order_costs_nothing():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    assert FastApLoss()(x, torch.tensor([0, 0, 1, 1])).item() == pytest.approx(0, abs=1e-6)
