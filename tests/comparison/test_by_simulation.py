"""What the room promises, held against 2,000 simulated studies whose truth is known.

A rate over 2,000 studies has a standard deviation of sqrt(0.05 * 0.95 / 2000) = 0.49 %. Rates must lie within three of
them, 1.46 %: a test that is right fails by chance once in 370 seeds, and the seeds here are fixed.
"""

import math

import numpy as np
import pytest

from fairground.comparison.intervals import t_interval
from fairground.comparison.mean_ranks import friedman_p, nemenyi, ranks_of

N_STUDIES = 2000
TOLERANCE = 3 * math.sqrt(0.05 * 0.95 / N_STUDIES)
TRUTH = 0.7


def rate(verdicts: list[bool]) -> float:
    assert len(verdicts) == N_STUDIES
    return sum(verdicts) / N_STUDIES


@pytest.mark.parametrize("n", [2, 4, 10])
def test_t_intervals_cover_at_their_rate(n):
    studies = np.random.default_rng(n).normal(TRUTH, 0.02, size=(N_STUDIES, n)).tolist()
    found = [t_interval(study) for study in studies]
    assert rate([i.low <= TRUTH <= i.high for i in found]) == pytest.approx(0.95, abs=TOLERANCE)


def test_ranks_of_equal_methods_over_data_sets():
    random = np.random.default_rng(70)
    studies = random.normal(size=(N_STUDIES, 12, 5))
    assert rate([friedman_p(table) <= 0.05 for table in studies]) == pytest.approx(0.05, abs=TOLERANCE)
    width = nemenyi(5, 12)
    spans = [float(np.ptp(ranks_of(table).mean(axis=0))) for table in studies]
    assert rate([span > width for span in spans]) <= 0.05 + TOLERANCE
