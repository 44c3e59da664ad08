import numpy as np

from fairground.functional.spectral import singular_values


def test_blocks_give_the_singular_values_of_the_whole():
    draw = np.random.default_rng(0)
    # Condition number 1e12: squaring the matrix would lose the small values.
    matrix = draw.normal(size=(300, 6)) * 10.0 ** -np.arange(0, 12, 2)
    whole = np.linalg.svd(matrix, compute_uv=False)
    for step in (7, 100, 300):
        blocks = (matrix[begin : begin + step] for begin in range(0, 300, step))
        np.testing.assert_allclose(singular_values(blocks), whole, rtol=1e-6)
