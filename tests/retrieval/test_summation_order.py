import numpy as np
import pytest

from fairground.retrieval.summation_order import dot_in_order, summation_order
from fairground.retrieval.threads import single_threaded_blas
from fairground.retrieval.tiles import multiply


@pytest.mark.parametrize("d", [96, 128, 520])
def test_a_pair_alone_has_the_bits_of_its_place_in_a_tile(d):
    draw = np.random.default_rng(5)
    left, right = draw.normal(size=(2, 208, d)).astype(np.float32)
    product = np.empty((208, 208), np.float32)
    with single_threaded_blas():
        cuts = summation_order(208, d)
        multiply(left, right, product)
    if cuts is None:  # a BLAS that sums in another order: the plain way is taken
        return
    assert cuts[0] == 0
    assert cuts[-1] == d
    for i, j in [(0, 0), (207, 207), (17, 199), (206, 3)]:
        assert dot_in_order(left, i, right, j, cuts) == product[i, j]
        assert dot_in_order(right, j, left, i, cuts) == product[i, j]
