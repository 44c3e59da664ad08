"""Collapse of a space, and its singular values in blocks."""

import numpy as np
import pytest
import torch

from fairground.analysis.collapse import collapse_of
from fairground.functional.spectra import singular_values


def cloud(n=200, d=64):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(0))


def test_a_healthy_cloud_is_not_collapsed():
    seen = collapse_of(cloud())
    assert seen.kind == "none"
    assert not seen.is_collapsed
    assert seen.spread == pytest.approx(1, abs=0.02)
    assert 40 < seen.effective_dimensions <= 64


def test_each_collapse_is_named():
    one = cloud(1)
    assert collapse_of(one + 0.001 * cloud()).kind == "point"
    line = torch.linspace(-3, 3, 200)[:, None] * one + 0.05 * cloud()
    assert collapse_of(line).kind == "line"
    plane = cloud(200, 3) @ torch.eye(3, 256)
    assert collapse_of(plane).kind == "few_dimensions"
    assert "dimensions" in collapse_of(plane).sentence
    assert collapse_of(torch.zeros(4, 16)).kind == "zero"
    assert collapse_of(torch.full((4, 16), torch.nan)).kind == "not_finite"


def test_blocks_give_the_singular_values_of_the_whole():
    draw = np.random.default_rng(0)
    # Condition number 1e12: squaring the matrix would lose the small values.
    matrix = draw.normal(size=(300, 6)) * 10.0 ** -np.arange(0, 12, 2)
    whole = np.linalg.svd(matrix, compute_uv=False)
    for step in (7, 100, 300):
        blocks = (matrix[begin : begin + step] for begin in range(0, 300, step))
        np.testing.assert_allclose(singular_values(blocks), whole, rtol=1e-6)
