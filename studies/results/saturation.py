"""Whether losses are saturated, by the rule of C1, which C17 and C18 ask again."""

from studies.results.arithmetic import Gap
from studies.results.page import Verdict, interval, points, verdict_of


def saturation_of(gap: Gap, line: float) -> Verdict:
    """Return the verdict on how far the median of the methods is below the best, by the line that matters."""
    return verdict_of(holds=gap.most < line, fails=gap.least > line)


def gap_in_words(gap: Gap) -> str:
    """Return how far the median of the methods is below the best, without a full stop."""
    return (
        f"The median method ({gap.median}) is {points(gap.difference)} points of MAP@R below the best ({gap.best}), "
        f"interval {interval(gap.low, gap.high)}"
    )
