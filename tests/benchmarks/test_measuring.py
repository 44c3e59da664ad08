"""What the benchmark of metrics measures with."""

import numpy as np
import pytest
from benchmarks.contestants import SIZES, like, synthetic


@pytest.mark.parametrize("name", SIZES)
def test_embeddings_have_the_shape_of_the_data_set(name):
    embeddings, labels = synthetic(name, 4, scale=10)
    n, n_classes, smallest, largest = SIZES[name]
    assert (len(embeddings), len(np.unique(labels))) == (n // 10, n_classes // 10)
    sizes = np.bincount(labels)
    assert smallest <= sizes.min()
    assert sizes.max() <= largest
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(n // 10), abs=1e-5)


def test_embeddings_like_real_ones_have_their_covariances():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(300), 20)
    spread = np.array([1.0, 0.5, 0.1])
    real = (
        [4.0, 0, 0] + (draw.normal(size=(300, 3)) * spread)[labels] + 0.5 * draw.normal(size=(6000, 3)) * spread[::-1]
    )
    made, made_labels = like(real, labels, "SOP", scale=10)

    def moments(rows, kind):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        sizes = np.bincount(kind)
        means = np.stack([np.bincount(kind, column) / sizes for column in unit.T], axis=1)
        within = (unit - means[kind]).T @ (unit - means[kind]) / (len(unit) - len(sizes))
        return unit.mean(0), np.cov(unit.T), within

    assert len(made) == SIZES["SOP"][0] // 10
    for ours, theirs in zip(moments(made, made_labels), moments(real, labels), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.01)
