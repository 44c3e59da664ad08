"""Embeddings of the sizes papers use, and those that metrics are measured against."""

import numpy as np
import torch

#: images, classes, smallest and largest class of the test halves
SIZES = {
    "SOP": (60_502, 11_316, 2, 12),
    "CUB": (5_924, 100, 41, 60),
    "Cars196": (8_131, 98, 68, 136),
}


def synthetic(name: str, d: int, scale: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return unit embeddings and sorted labels with a data set's number of images and classes, 1/scale of both."""
    draw = np.random.default_rng(0)
    labels = _sorted_labels(name, scale, draw)
    centres = draw.standard_normal((labels[-1] + 1, d), dtype=np.float32)
    embeddings = centres[labels]
    embeddings += 1.7 * draw.standard_normal((len(labels), d), dtype=np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings, labels


def like(real: np.ndarray, real_labels: np.ndarray, name: str, scale: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return unit embeddings drawn with the covariances of real ones, between and within classes, and sorted labels.

    There are as many as a data set has, 1/scale of its images and classes.
    """
    draw = np.random.default_rng(0)
    labels = _sorted_labels(name, scale, draw)
    unit = real.astype(np.float64) / np.linalg.norm(real.astype(np.float64), axis=1, keepdims=True)
    _, kind, sizes = np.unique(real_labels, return_inverse=True, return_counts=True)
    means = np.zeros((len(sizes), unit.shape[1]))
    np.add.at(means, kind, unit)
    means /= sizes[:, None]
    deviations = unit - means[kind]
    within = deviations.T @ deviations / (len(unit) - len(sizes))
    # Means of few images scatter by themselves, which is not a difference between classes.
    between = np.cov(means.T) - within * (1 / sizes).mean()
    classes = draw.standard_normal((labels[-1] + 1, len(within))) @ _root(between).T
    rows = means.mean(0) + classes[labels] + draw.standard_normal((len(labels), len(within))) @ _root(within).T
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32), labels


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return a matrix whose product with its transpose is the covariance, negative directions left out."""
    values, axes = np.linalg.eigh(covariance)
    return axes * np.sqrt(np.maximum(values, 0))


def _sorted_labels(name: str, scale: int, draw: np.random.Generator) -> np.ndarray:
    n, n_classes, smallest, largest = SIZES[name]
    n, n_classes = n // scale, n_classes // scale
    sizes = np.full(n_classes, n // n_classes)
    sizes[: n - sizes.sum()] += 1
    for _ in range(20):
        # One image moves from a class to another, wherever both stay within the data set's range.
        giver, taker = draw.permutation(n_classes), draw.permutation(n_classes)
        for a, b in zip(giver, taker, strict=True):
            if sizes[a] > smallest and sizes[b] < largest:
                sizes[a] -= 1
                sizes[b] += 1
    return np.repeat(np.arange(n_classes), sizes)


def plain_product(embeddings: np.ndarray) -> None:
    """Multiply every row with every row, in blocks, and forget the result."""
    out = np.empty((2048, len(embeddings)), np.float32)
    for begin in range(0, len(embeddings), 2048):
        some = embeddings[begin : begin + 2048]
        np.matmul(some, embeddings.T, out=out[: len(some)])


def accuracy_calculator(
    embeddings: np.ndarray, labels: np.ndarray, include: tuple[str, ...], k: str | None = "max_bin_count"
) -> dict[str, float]:
    """Return the peer's metrics."""
    from pytorch_metric_learning.utils.accuracy_calculator import AccuracyCalculator

    peer = AccuracyCalculator(include=include, k=k, device=torch.device("cpu"))
    return peer.get_accuracy(torch.from_numpy(embeddings), torch.from_numpy(labels))
