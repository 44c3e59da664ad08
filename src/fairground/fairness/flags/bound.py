"""A searched setting that ended on the edge of its range.

Flaw
    MLRC section 3.3 and the optimal settings on its supplementary page: several optima lie on a bound (CosFace and
    ArcFace scale 100, multi-similarity alpha 0.01, contrastive margin -0.2), so that the true optimum may lie outside.
"""

import math
from collections.abc import Iterator

from fairground.fairness.evidence import Evidence, Flag
from fairground.records.record import RunRecord
from fairground.spec.space import Integer, LogReal, Range, Real

#: as a share of the range: a search rarely lands on the edge to the last digit
NEAR = 0.01


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for every setting within one hundredth of the end of its range."""
    found = []
    for label, records in evidence.done.items():
        hits = dict.fromkeys(hit for record in records for hit in _hits(record, evidence))
        for setting, value, end in hits:
            text = f"{label}: {setting} = {value:g} lies on the {end} bound of its search range."
            why = "The optimum may lie beyond; widen the range before believing the method's best."
            found.append(Flag(flag="bound", methods=(label,), text=text, why=why))
    return found


def _hits(record: RunRecord, evidence: Evidence) -> Iterator[tuple[str, float, str]]:
    for part, settings in record.spec.items():
        if isinstance(settings, dict):
            for key, value in settings.items():
                names = (f"{part}.{settings.get('name')}.{key}", f"{part}.{key}")
                searched = next((evidence.ranges[name] for name in names if name in evidence.ranges), None)
                end = _end(value, searched)
                if end is not None:
                    yield f"{part}.{key}", float(str(value)), end


def _end(value: object, searched: Range | None) -> str | None:
    """Return which end of the range the value lies on; choices have no ends."""
    if not isinstance(searched, Real | LogReal | Integer) or not isinstance(value, int | float) or value is True:
        return None
    at, low, high = float(value), float(searched.low), float(searched.high)
    if isinstance(searched, LogReal):
        # What lies outside the range is beyond the bound, whatever its logarithm would be.
        at, low, high = math.log(max(at, low)), math.log(low), math.log(high)
    slack = 0.0 if isinstance(searched, Integer) else NEAR * (high - low)
    return "lower" if at <= low + slack else "upper" if at >= high - slack else None
