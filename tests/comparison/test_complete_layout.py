"""Methods on the same seeds have a closed form: it is what the general algebra gives, without its large matrices."""

import numpy as np
import pytest

from fairground.comparison.null_distribution import DRAWS, FEWEST, null_distribution_of
from fairground.comparison.paired_table import Layout, layout_of, scatter_of


@pytest.mark.parametrize(("k", "s"), [(2, 2), (2, 7), (5, 3), (9, 12)])
def test_closed_forms_agree_with_the_general_algebra(k, s):
    short, general = Layout(has_run=np.ones((k, s), bool)), Layout(has_run=np.ones((k, s), bool))
    vars(general)["is_complete"] = False
    assert short.is_complete
    y = np.random.default_rng(k + s).normal(size=(4, k * s)) * np.linspace(1, 3, k * s)
    for name in ("freedom", "pair_weights", "pair_seed_weight", "own_weights", "own_seed_weight", "on_seeds"):
        np.testing.assert_allclose(getattr(short, name), getattr(general, name), atol=1e-12, err_msg=name)
    assert (short.block_freedom, pytest.approx(short.block_weight)) == (general.block_freedom, general.block_weight)
    ours, theirs = scatter_of(short, y), scatter_of(general, y)
    for name in ("own", "pooled", "seeds"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(short.means_of(y), general.means_of(y), rtol=1e-10)
    variances = short.pair_variances(ours.own, ours.seeds)
    np.testing.assert_allclose(variances, general.pair_variances(ours.own, ours.seeds), rtol=1e-10)


def test_one_run_missing_is_not_complete():
    has_run = np.ones((3, 4), bool)
    has_run[1, 2] = False
    assert not Layout(has_run=has_run).is_complete


def test_a_study_of_thousands_of_pairs_is_drawn_less_often():
    assert len(null_distribution_of(layout_of(np.ones((3, 60), bool))).highest) == DRAWS
    many = null_distribution_of(layout_of(np.ones((160, 3), bool)))
    assert FEWEST <= len(many.highest) < DRAWS
