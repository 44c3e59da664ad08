"""Batches whose matrix of comparisons is not held: the same value and gradient, in blocks."""

import pytest
import torch

from fairground import losses
from fairground.functional import memory_blocks

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
    losses.NtXentLoss(decoupled=True, decoupled_sigma=0.5),
    losses.SupConLoss(),
    losses.SupConLoss(decoupled=True, decoupled_sigma=0.5),
    losses.SigmoidPairsLoss(),
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
    losses.UnifiedCrossEntropyLoss(**SIZES),
    losses.AdafaceLoss(**SIZES).eval(),
    losses.MagfaceLoss(**SIZES, low_norm=1.0),
    losses.MatryoshkaLoss(**SIZES, dimensions=[12, 5]),
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
        monkeypatch.setattr(memory_blocks, "LARGEST_MATRIX", 500)
        monkeypatch.setattr(memory_blocks, "COMPARISONS", 1300)

    return begin


@pytest.mark.parametrize("loss", [*PAIR_LOSSES, *PROXY_LOSSES], ids=lambda loss: type(loss).__name__)
def test_blocks_change_neither_value_nor_gradient_of_kernel_and_formula(loss, small_blocks):
    loss = loss.double()
    batches = [batch(101, 12, n_classes) for n_classes in (37, 3, 1)]
    calls = (loss, lambda embeddings, labels: loss.formula(embeddings, labels, None, generator=None))
    expected = [value_and_gradients(loss, *one, call) for one in batches for call in calls]
    small_blocks()
    found = [value_and_gradients(loss, *one, call) for one in batches for call in calls]
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)
