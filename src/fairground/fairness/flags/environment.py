"""Runs made by other versions or on other machines.

Flaw
    MLRC section 3.1 fixes the library it runs on. Versions and hardware move digits, seldom verdicts; where they differ
    between methods a reader should know.
"""

from collections.abc import Callable

from fairground.fairness.evidence import Evidence, Flag
from fairground.records.record import Provenance

_FACTS: tuple[tuple[str, Callable[[Provenance], object]], ...] = (
    ("the version of fairground", lambda origin: origin.fairground.partition("+")[0]),
    ("the versions of packages", lambda origin: tuple(sorted(origin.packages.items()))),
    ("the machine", lambda origin: origin.hardware),
    ("the number of threads", lambda origin: origin.threads),
)


def check(evidence: Evidence) -> list[Flag]:
    """Return one flag naming all that is not the same in all finished runs."""
    origins = [record.provenance for records in evidence.done.values() for record in records]
    apart = [name for name, fact in _FACTS if len({fact(origin) for origin in origins}) > 1]
    if not apart:
        return []
    text = f"Not the same in all runs: {', '.join(apart)}."
    why = "It moves digits; more seeds show whether it moves more."
    return [Flag(flag="environment", methods=tuple(evidence.methods), text=text, why=why)]
