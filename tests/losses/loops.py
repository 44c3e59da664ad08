"""The batch in plain Python, for oracles that share no code with the losses, and the edges each of them must hold."""

from collections.abc import Callable
from math import inf, log, sqrt

import pytest
import torch
from torch import Tensor

from tests.losses.fixtures import F8, F8B

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
