import math

import numpy as np
import pytest

from fairground.comparison.comparison_result import t_interval
from fairground.errors import InputError


def test_three_values_by_hand():
    # mean 2, s 1, and the textbook's t(0.975, 2) = 4.3027: 4.3027 / sqrt(3) = 2.4842
    found = t_interval([1.0, 2.0, 3.0])
    assert found.mean == 2
    assert found.half_width == pytest.approx(2.4842, abs=1e-4)
    assert (found.low, found.high) == (found.mean - found.half_width, found.mean + found.half_width)
    assert (found.n, found.level, found.kind) == (3, 0.95, "t")


def test_one_value_has_no_interval_and_equal_values_have_no_width():
    one = t_interval([0.5])
    assert (one.mean, one.low, one.high, one.half_width, one.n) == (0.5, None, None, None, 1)
    same = t_interval([0.5, 0.5, 0.5])
    assert (same.low, same.high, same.half_width) == (0.5, 0.5, 0.0)


def test_impossible_input_is_refused():
    with pytest.raises(InputError, match="at least one value; got none"):
        t_interval([])
    with pytest.raises(InputError, match="finite values; got"):
        t_interval([1.0, math.nan])
    with pytest.raises(InputError, match="level must be between 0 and 1; got 95"):
        t_interval([1.0, 2.0], level=95)


def test_ten_values_as_the_reality_check_reports_them():
    # t(0.975, 9) = 2.2622
    values = [68.1, 68.3, 67.9, 68.0, 68.2, 68.1, 68.4, 67.8, 68.0, 68.2]
    deviation = np.std(values, ddof=1)
    assert t_interval(values).half_width == pytest.approx(2.2622 * deviation / math.sqrt(10), rel=1e-4)


def test_t_intervals_cover_at_their_rate():
    random = np.random.default_rng(0)
    studies = random.normal(0.7, 0.02, size=(1000, 4))
    found = [t_interval(study) for study in studies.tolist()]
    covered = sum(interval.low <= 0.7 <= interval.high for interval in found)
    assert 930 <= covered <= 970
