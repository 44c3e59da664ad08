import pytest
import torch

from fairground.contracts.loss import Pairs
from fairground.losses import HistogramLoss
from tests.losses import loops
from tests.losses.fixtures import F8, F8B, X


def test_value_by_hand():
    # Nodes -1, 0, 1. Positives have cosine 0.6: 0.4 at 0 and 0.6 at 1. Negatives have 0.8, 0.8, 0 and 0.28.
    embeddings = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.8, 0.6], [0.0, 1.0]], dtype=torch.float64)
    cosine = {(0, 2): 0.8, (0, 3): 0.0, (1, 2): 0.96, (1, 3): 0.8}
    at_one = sum(cosine.values()) / 4
    # A negative at 0 lies above the 0.4 of the positives at 0, a negative at 1 above all of them.
    value = HistogramLoss(nodes=3)(embeddings, torch.tensor([0, 0, 1, 1]))
    assert value.item() == pytest.approx((1 - at_one) * 0.4 + at_one, abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "labels", "value"),
    [
        ({}, F8, 0.453738548),
        ({"nodes": 11}, F8, 0.507230799),
        ({}, F8B, 0.318632011),
        ({"nodes": 11}, F8B, 0.343877611),
        ({"roth_code": True}, F8B, 0.318632011),
        ({"nodes": 11, "roth_code": True}, F8B, 0.070652070),
    ],
)
def test_fixture_values(settings, labels, value):
    assert HistogramLoss(**settings)(X, labels).item() == pytest.approx(value, abs=1e-9)


def _oracle(s, near, far, nodes):
    width = 2 / (nodes - 1)
    points = [-1 + r * width for r in range(nodes)]

    def histogram(pairs):
        return [loops.mean([max(0, 1 - abs(s[i][j] - t) / width) for i, j in pairs]) for t in points]

    positive, negative = histogram(near), histogram(far)
    return sum(negative[r] * sum(positive[: r + 1]) for r in range(nodes))


@pytest.mark.parametrize("labels", loops.LABELS)
@pytest.mark.parametrize("nodes", [3, 11, 20, 65])
def test_agrees_with_a_loop(labels, nodes):
    near = [(i, j) for i in range(8) for j in loops.positives(labels, i) if i < j]
    far = [(i, j) for i in range(8) for j in loops.negatives(labels, i) if i < j]
    expected = _oracle(loops.cosines(X), near, far, nodes)
    assert HistogramLoss(nodes=nodes)(X, labels).item() == pytest.approx(expected, abs=1e-9)


def test_the_code_that_compared_floating_point_numbers():
    # For 11 nodes the upper node goes missing in the six intervals between -0.6 and 0.6.
    assert "drops the upper node in 6 of 10 intervals" in HistogramLoss(nodes=11, roth_code=True).known_bugs()[0]
    assert "drops the upper node in 0 of 64 intervals" in HistogramLoss(roth_code=True).known_bugs()[0]
    assert HistogramLoss(nodes=11).known_bugs() == ()


def test_a_mined_pair_counts_once_whichever_way_round():
    pairs = Pairs(*(torch.tensor(index) for index in ([0, 1, 3], [1, 0, 4], [0, 3, 5], [3, 0, 1])))
    expected = _oracle(loops.cosines(X), [(0, 1), (3, 4)], [(0, 3), (1, 5)], 65)
    assert HistogramLoss()(X, F8, pairs).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("nodes", [3, 11, 65])
def test_edges(nodes):
    loops.check_edges(HistogramLoss(nodes=nodes))
    loops.check_edges(HistogramLoss(nodes=nodes, roth_code=True))


def test_perfect_and_worst_order():
    x = torch.tensor([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]])
    assert HistogramLoss()(x, torch.tensor([0, 0, 1, 1])).item() == 0
    # Positives are opposite; of four negative pairs two coincide and two are opposite, tied with the positives.
    assert HistogramLoss()(x, torch.tensor([0, 1, 0, 1])).item() == 1
