"""Whether losses are saturated, by the rule of C1, which C17 and C18 ask again."""

from studies.results.arithmetic import Gap
from studies.results.page import Verdict, interval, points, verdict_of

#: the median method less than a point of MAP@R below the best
BOUND = 0.01


def saturation_of(gap: Gap) -> Verdict:
    """Return the verdict on how far the median method lies below the best."""
    return verdict_of(holds=gap.most < BOUND, fails=gap.least > BOUND)


def gap_in_words(gap: Gap) -> str:
    """Return how far the median method lies below the best, without a full stop."""
    return (
        f"The median method ({gap.median}) lies {points(gap.difference)} points of MAP@R below the best ({gap.best}), "
        f"interval {interval(gap.low, gap.high)}"
    )
