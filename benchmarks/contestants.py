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
    n, n_classes, smallest, largest = SIZES[name]
    n, n_classes = n // scale, n_classes // scale
    draw = np.random.default_rng(0)
    sizes = np.full(n_classes, n // n_classes)
    sizes[: n - sizes.sum()] += 1
    for _ in range(20):
        # One image moves from a class to another, wherever both stay within the data set's range.
        giver, taker = draw.permutation(n_classes), draw.permutation(n_classes)
        for a, b in zip(giver, taker, strict=True):
            if sizes[a] > smallest and sizes[b] < largest:
                sizes[a] -= 1
                sizes[b] += 1
    labels = np.repeat(np.arange(n_classes), sizes)
    centres = draw.standard_normal((n_classes, d), dtype=np.float32)
    embeddings = centres[labels]
    embeddings += 1.7 * draw.standard_normal((n, d), dtype=np.float32)
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    return embeddings, labels


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
