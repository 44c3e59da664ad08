import math

import numpy as np
import pytest
from scipy.stats import bootstrap, norm, t

from fairground.errors import InputError
from fairground.statistics.intervals import Interval, bootstrap_interval, t_interval


def test_three_values_by_hand():
    # mean 2, s 1, and the textbook's t(0.975, 2) = 4.3027: 4.3027 / sqrt(3) = 2.4842
    found = t_interval([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.half_width == pytest.approx(2.4842, abs=1e-4)
    assert (found.low, found.high) == (found.mean - found.half_width, found.mean + found.half_width)
    assert (found.n, found.level, found.kind) == (3, 0.95, "t")


def test_ten_values_as_the_reality_check_reports_them():
    # t(0.975, 9) = 2.2622
    values = [68.1, 68.3, 67.9, 68.0, 68.2, 68.1, 68.4, 67.8, 68.0, 68.2]
    deviation = np.std(values, ddof=1)
    assert t_interval(values).half_width == pytest.approx(2.2622 * deviation / math.sqrt(10), rel=1e-4)


@pytest.mark.parametrize("interval", [t_interval, bootstrap_interval])
def test_one_value_has_no_interval_and_equal_values_have_no_width(interval):
    one = interval([0.5])
    assert (one.mean, one.low, one.high, one.half_width, one.n) == (0.5, None, None, None, 1)
    same = interval([0.5, 0.5, 0.5])
    assert (same.low, same.high, same.half_width) == (0.5, 0.5, 0.0)


@pytest.mark.parametrize("interval", [t_interval, bootstrap_interval])
def test_impossible_input_is_refused(interval):
    with pytest.raises(InputError, match="at least one value; got none"):
        interval([])
    with pytest.raises(InputError, match="finite values; got"):
        interval([1.0, math.nan])
    with pytest.raises(InputError, match="level must be between 0 and 1; got 95"):
        interval([1.0, 2.0], level=95)


def test_the_bootstrap_is_the_same_for_the_same_seed_and_inside_the_data():
    values = [0.1, 0.4, 0.2, 0.9, 0.5, 0.3]
    first, again, other = (bootstrap_interval(values, resamples=500, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert min(values) < first.low < first.mean < first.high < max(values)
    with pytest.raises(InputError, match="resamples must be at least 100; got 5"):
        bootstrap_interval(values, resamples=5)


def test_the_bootstrap_agrees_with_scipys():
    values = np.random.default_rng(3).exponential(size=40)
    # Ours is as much wider as a t-interval with the unbiased variance is than one that knows the variance.
    reach = np.sqrt(40 / 39) * t.ppf(0.975, 39)
    level = 2 * norm.cdf(reach) - 1
    random = np.random.default_rng(0)
    asked = {"n_resamples": 9999, "method": "BCa", "confidence_level": level, "rng": random}
    theirs = bootstrap((values,), np.mean, **asked).confidence_interval
    ours = bootstrap_interval(values.tolist())
    assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=0.02), pytest.approx(theirs.high, abs=0.02))


def test_t_intervals_cover_at_their_rate():
    random = np.random.default_rng(0)
    studies = random.normal(0.7, 0.02, size=(1000, 4))
    found = [t_interval(study) for study in studies.tolist()]
    covered = sum(interval.low <= 0.7 <= interval.high for interval in found)
    assert 930 <= covered <= 970


def test_overlap_is_mutual_and_a_missing_interval_overlaps_all():
    def between(low: float | None, high: float | None) -> Interval:
        return Interval(mean=0.0, low=low, high=high, n=2, level=0.95, kind="t")

    assert between(0, 1).overlaps(between(1, 2))
    assert between(1, 2).overlaps(between(0, 1))
    assert not between(0, 1).overlaps(between(1.1, 2))
    assert between(0, 9).overlaps(between(4, 5))
    assert between(None, None).overlaps(between(4, 5))
