"""Batches whose matrix of comparisons is not held: the same value and gradient, in blocks."""

import pytest
import torch

from fairground import losses
from fairground.functional import reductions

PAIR_LOSSES = [
    losses.ContrastiveLoss(),
    losses.ContrastiveLoss(reduction="mean_all", positive_margin=0.3),
    losses.TripletLoss(),
    losses.TripletLoss(power=2, reduction="mean_all"),
    losses.MarginLoss(beta=1.2, beta_weight=0.1),
    losses.MarginLoss(beta=1.2, count="tuples"),
    losses.MultiSimilarityLoss(),
    losses.MultiSimilarityLoss(epsilon=0.1, empty="survivors"),
    losses.MultiSimilarityLoss(epsilon=0.1, empty="batch", self_positive_bug=True),
    losses.NtXentLoss(),
    losses.NtXentLoss(log_floor=1e-9),
    losses.SupConLoss(),
    losses.CircleLoss(),
]
SIZES = {"n_classes": 37, "embedding_dim": 12}
PROXY_LOSSES = [
    losses.NormalisedSoftmaxLoss(**SIZES),
    losses.ProxyNcaLoss(**SIZES),
    losses.ProxyNcaLoss(**SIZES, power=1),
    losses.ProxyNcaLoss(**SIZES, positive_in_denominator=False),
    losses.ProxyNcaLoss(**SIZES, positive_in_denominator=False, power=1),
    losses.ProxyNcaPpLoss(**SIZES),
    losses.CosFaceLoss(**SIZES),
    losses.ArcFaceLoss(**SIZES),
    losses.ArcFaceLoss(**SIZES, clamp_min=0.0, fallback=False),
    losses.ArcFaceLoss(**SIZES, roth_icml_no_margin=True),
    losses.SubCentreArcFaceLoss(**SIZES),
    losses.SphereFaceLoss(**SIZES),
    losses.SoftTripleLoss(**SIZES, n_centres=3),
    losses.ProxyAnchorLoss(**SIZES),
]


def batch(n, d, n_classes, dtype=torch.float64, seed=0):
    draw = torch.Generator().manual_seed(seed)
    labels = torch.randint(n_classes, (n,), generator=draw)
    return torch.randn(n, d, generator=draw, dtype=dtype, requires_grad=True), labels


def value_and_gradients(loss, embeddings, labels, call=None):
    value = (call or loss)(embeddings, labels)
    return [value, *torch.autograd.grad(value, [embeddings, *loss.parameters()])]


@pytest.fixture
def small_blocks(monkeypatch):
    def begin():
        monkeypatch.setattr(reductions, "LARGEST_MATRIX", 500)
        monkeypatch.setattr(reductions, "COMPARISONS", 1300)

    return begin


@pytest.mark.parametrize("loss", [*PAIR_LOSSES, *PROXY_LOSSES], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("n_classes", [37, 3, 1])
def test_blocks_change_neither_value_nor_gradient(loss, n_classes, small_blocks):
    loss = loss.double()
    embeddings, labels = batch(101, 12, n_classes)
    expected = value_and_gradients(loss, embeddings, labels)
    small_blocks()
    for ours, theirs in zip(value_and_gradients(loss, embeddings, labels), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "loss",
    [
        losses.NtXentLoss(),
        losses.MultiSimilarityLoss(),
        losses.ContrastiveLoss(),
        losses.SupConLoss(),
        losses.CircleLoss(),
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_equal_to_the_whole_matrix_at_4096(loss, monkeypatch):
    embeddings, labels = batch(4096, 32, 800, torch.float32)
    expected = value_and_gradients(loss, embeddings, labels)
    monkeypatch.setattr(reductions, "LARGEST_MATRIX", 2**20)
    for ours, theirs in zip(value_and_gradients(loss, embeddings, labels), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", [*PAIR_LOSSES, *PROXY_LOSSES], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("n_classes", [37, 3])
def test_the_formula_which_any_device_runs_is_the_same_in_blocks(loss, n_classes, small_blocks):
    loss = loss.double()
    embeddings, labels = batch(90, 12, n_classes)

    def formula(embeddings, labels):
        return loss.formula(embeddings, labels, None, generator=None)

    expected = value_and_gradients(loss, embeddings, labels, formula)
    small_blocks()
    for ours, theirs in zip(value_and_gradients(loss, embeddings, labels, formula), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)


def test_accumulated_over_chunks_a_large_batch_takes_the_same_step(small_blocks):
    draw = torch.Generator().manual_seed(3)
    inputs, labels = torch.randn(120, 20, generator=draw), torch.randint(30, (120,), generator=draw)
    network, loss = torch.nn.Linear(20, 8), losses.MultiSimilarityLoss()
    torch.nn.init.normal_(network.weight, generator=draw)
    loss(network(inputs), labels).backward()
    expected = network.weight.grad.clone()
    small_blocks()
    network.zero_grad()
    # The gradient cache: embed without a graph, take the loss's gradient, then backpropagate chunk by chunk.
    embeddings = torch.cat([network(chunk).detach() for chunk in inputs.split(16)]).requires_grad_()
    loss(embeddings, labels).backward()
    for chunk, gradient in zip(inputs.split(16), embeddings.grad.split(16), strict=True):
        network(chunk).backward(gradient)
    torch.testing.assert_close(network.weight.grad, expected, rtol=1e-5, atol=1e-7)
