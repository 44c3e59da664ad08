"""A test on classes that were trained on.

Flaw
    MLRC section 3.3 tests on classes never seen, as the field does. Other tool kits offer splits of the images within
    classes; their numbers are far higher and answer another question.
"""

from fairground.fairness.evidence import Evidence, Flag


def check(evidence: Evidence) -> list[Flag]:
    """Return a flag for the methods whose split, by its name or the run's note, shares classes with training."""
    closed = tuple(label for label in evidence.methods if _is_closed(evidence, label))
    if not closed:
        return []
    text = f"Tested on classes that were trained on (closed set): {', '.join(closed)}."
    why = "Metric learning is judged on classes never seen; a closed set is classification and scores higher."
    return [Flag(flag="closed_set", methods=closed, text=text, why=why)]


def _is_closed(evidence: Evidence, label: str) -> bool:
    name = evidence.settings[label].get("split", "")
    notes = (note for record in evidence.methods[label] for note in record.notes)
    return name.startswith("closed_set") or any(note.startswith("closed set") for note in notes)
