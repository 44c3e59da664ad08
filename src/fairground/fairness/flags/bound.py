"""A searched setting that ended on the edge of its range.

Flaw
    MLRC section 3.3 and the optimal settings on its supplementary page: several optima lie on a bound (CosFace and
    ArcFace scale 100, multi-similarity alpha 0.01, contrastive margin -0.2), so that the true optimum may lie outside.
"""

from collections.abc import Iterator

from fairground.fairness.evidence import Evidence, Flag
from fairground.records.record import RunRecord
from fairground.spec.space import end_of


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
                end = end_of(searched, value)
                if end is not None:
                    yield f"{part}.{key}", float(str(value)), end
