"""What did not work in a study: how many of its trials and final runs failed, why, and what the command ends with."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fairground.studies.run_study import JobResult

#: what `fairground study` ends with when every run worked, when none did, and when some failed
ALL_WORKED, NONE_WORKED, SOME_FAILED = 0, 1, 3


@dataclass(frozen=True, kw_only=True)
class StudyFailures:
    """`n` trials and final runs, of which `n_done` have scores and the failed have `reasons`, each with its count."""

    n: int
    n_done: int
    reasons: Counter[str]

    @property
    def exit_code(self) -> int:
        """What the command ends with; a diverged run is a result and no failure, unless nothing else came out."""
        if self.n_done == 0:
            return NONE_WORKED
        return SOME_FAILED if self.reasons else ALL_WORKED

    def sentence(self) -> str:
        """Say how many failed and why; nothing where none did."""
        if self.exit_code == ALL_WORKED:
            return ""
        if not self.reasons:
            return f"none of {self.n} trials and final runs finished: all of them diverged or had no score"
        (reason, times), *others = self.reasons.most_common()
        more = f"; {len(others)} other reasons: `fairground show RUN` prints each" if others else ""
        failed = f"{self.reasons.total()} of {self.n} trials and final runs failed"
        return f"{failed}, {times} of them so: {reason}{more}"


def failures_of(results: Sequence[JobResult]) -> StudyFailures:
    """Return what failed in a study."""
    states = [state for result in results for state, _ in _ends(result)]
    reasons = Counter(reason for result in results for state, reason in _ends(result) if state == "failed")
    return StudyFailures(n=len(states), n_done=states.count("done"), reasons=reasons)


def _ends(result: JobResult) -> Iterator[tuple[str, str]]:
    for trial in result.trials:
        # The fold a trial failed in is no part of the reason.
        yield trial.state, (trial.failure or "").partition(": ")[2] or trial.failure or ""
    for run in result.runs:
        yield run.state, run.failure or ""
