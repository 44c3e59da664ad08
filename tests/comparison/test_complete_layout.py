"""Methods on the same seeds have a closed form: it is what the general algebra gives, without its large matrices."""

import numpy as np
import pytest

from fairground.comparison import reference
from fairground.comparison.layout import Layout, layout_of
from fairground.comparison.scatter import scatter_of


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
    assert len(reference.reference_of(layout_of(np.ones((3, 60), bool))).highest) == reference.DRAWS
    many = reference.reference_of(layout_of(np.ones((160, 3), bool)))
    assert reference.FEWEST <= len(many.highest) < reference.DRAWS


@pytest.mark.parametrize(("k", "s"), [(90, 2), (90, 10), (40, 80), (20, 190), (5, 800), (2, 2000)])
def test_drawing_means_and_sums_of_squares_reaches_the_law_of_drawing_every_run(k, s, monkeypatch):
    layout = layout_of(np.ones((k, s), bool))
    monkeypatch.setattr(reference, "_MOST_DRAWN", 16_000_000)
    laws = []
    for most in (k * s + k * k, 0):
        monkeypatch.setattr(reference, "_MOST_BY_RUN", most)
        reference._reference.cache_clear()
        laws.append(reference.reference_of(layout))
    reference._reference.cache_clear()
    exact, short = laws
    # 4,000 draws know a quantile of 5 % to a few hundredths, and the median better.
    for level, tolerance in ((0.5, 0.06), (0.95, 0.15)):
        assert np.quantile(short.highest, level) == pytest.approx(np.quantile(exact.highest, level), abs=tolerance)
        assert np.quantile(short.alone, level) == pytest.approx(np.quantile(exact.alone, level), abs=tolerance)
        wide, narrow = (np.quantile(np.abs(law.errors), level) for law in (short, exact))
        assert wide == pytest.approx(narrow, rel=0.05)
    critical = np.quantile(short.highest, 0.95)
    assert (exact.highest > critical).mean() == pytest.approx(0.05, abs=0.015)
