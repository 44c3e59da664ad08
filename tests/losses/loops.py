"""The batch in plain Python, for oracles that share no code with the losses, and the edges each of them must hold."""

from collections.abc import Callable
from math import inf, isnan, log, sqrt

import pytest
import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from tests.losses.fixtures import F8, F8B, X

#: labels that are neither small, nor sorted, nor all positive
ODD = torch.tensor([700, -3, 700, 12, -3, 700, 12, 5])
#: what the oracles are compared on
LABELS = [pytest.param(F8, id="f8"), pytest.param(F8B, id="f8b"), pytest.param(ODD, id="odd")]


def products(x: Tensor) -> list[list[float]]:
    """Return x_i . x_j."""
    rows = x.tolist()
    return [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]


def cosines(x: Tensor) -> list[list[float]]:
    """Return the cosine of every two rows."""
    dots = products(x)
    return [[dots[i][j] / sqrt(dots[i][i] * dots[j][j]) for j in range(len(dots))] for i in range(len(dots))]


def distances(x: Tensor, *, on_sphere: bool = True) -> list[list[float]]:
    """Return the Euclidean distance of every two rows, difference by difference."""
    rows = x.tolist()
    if on_sphere:
        rows = [[a / sqrt(sum(b * b for b in u)) for a in u] for u in rows]
    return [[sqrt(sum((a - b) ** 2 for a, b in zip(u, v, strict=True))) for v in rows] for u in rows]


def positives(labels: Tensor, i: int) -> list[int]:
    """Return the other samples of i's class."""
    y = labels.tolist()
    return [j for j in range(len(y)) if y[j] == y[i] and j != i]


def negatives(labels: Tensor, i: int) -> list[int]:
    """Return the samples of other classes than i's."""
    y = labels.tolist()
    return [j for j in range(len(y)) if y[j] != y[i]]


def positive_pairs(labels: Tensor) -> list[tuple[int, int]]:
    """Return all ordered positive pairs."""
    return [(a, p) for a in range(len(labels)) for p in positives(labels, a)]


def mean(values: list[float]) -> float:
    """Return the mean, 0 for none."""
    return sum(values) / len(values) if values else 0.0


def mean_nonzero(values: list[float]) -> float:
    """Return the mean of those above 0."""
    return mean([value for value in values if value > 0])


def logarithm(value: float) -> float:
    """Return the logarithm, minus infinity of 0."""
    return log(value) if value > 0 else -inf


def gradient_of(loss: Callable[..., Tensor], embeddings: Tensor, labels: Tensor, *more: object) -> tuple[float, Tensor]:
    """Return value and gradient."""
    leaf = embeddings.clone().requires_grad_()
    value = loss(leaf, labels, *more)
    value.backward()
    assert leaf.grad is not None
    return value.item(), leaf.grad


def check_gradient(loss: Callable[..., Tensor], *more: object, labels: Tensor = F8) -> None:
    """Compare the gradient with finite differences, on a batch with a class of one."""
    assert torch.autograd.gradcheck(lambda x: loss(x, labels, *more), (X.clone().requires_grad_(),), atol=1e-6)


def check_edges(loss: Loss, *, no_positives: float = 0.0, one_class: float = 0.0) -> None:
    """Check the batches that hold nothing to learn from, and those that invite a NaN."""
    for labels, expected in [
        (torch.arange(8), no_positives),
        (torch.zeros(8, dtype=torch.long), one_class),
        (torch.tensor([3]), 0.0),
        (torch.tensor([3, 3]), None if one_class else 0.0),
        (torch.tensor([3, 4]), None if no_positives else 0.0),
        (torch.empty(0, dtype=torch.long), 0.0),
    ]:
        value, gradient = gradient_of(loss, X[: len(labels)], labels)
        if expected is not None:
            assert value == pytest.approx(expected, abs=1e-9)
        assert gradient.isfinite().all()
        if expected == 0:
            assert not gradient.any()
    _check_hard_numbers(loss)


def _check_hard_numbers(loss: Loss) -> None:
    """Duplicates of one class and of two, all alike, opposite, nothing at all, and half precision."""
    twins = X[torch.tensor([0, 0, 1, 1, 1, 2, 2, 3])]
    for batch in (twins, X[:1].expand(8, 4), torch.cat([X[:4], -X[:4]]), X * (F8 > 0).unsqueeze(1)):
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            for labels in (F8, F8B):
                value, gradient = gradient_of(loss, batch.to(dtype), labels)
                assert value == value
                assert abs(value) < inf
                assert gradient.isfinite().all()
                assert gradient.dtype == dtype
    # A batch that has diverged gives a loss that says so.
    for bad in (inf, -inf, float("nan")):
        broken = X.clone()
        broken[3, 1] = bad
        assert isnan(loss(broken, F8).item())
