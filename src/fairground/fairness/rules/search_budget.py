"""The same number of settings tried for every method.

Flaw
    MLRC sections 2.3 and 3.3: a method tuned for long is set beside competitors at their defaults or at copied numbers.
    MLRC gives every loss 50 trials of the same search.
"""

from fairground.fairness.agreement import facts_agree
from fairground.fairness.evidence import Difference, Evidence
from fairground.fairness.told import trials_of
from fairground.records.record import RunRecord

OWNS = ("search",)
WHY = "The best of more trials is higher by chance alone, and a method searched for longer is nearer to its optimum."


def check(evidence: Evidence) -> list[Difference]:
    """Return the number of trials where it is not the same for all."""
    return facts_agree(evidence, rule="search_budget", what="trials searched", fact=_trials, why=WHY)


def _trials(record: RunRecord) -> str | None:
    trials = trials_of(record)
    return None if trials is None else str(trials)
