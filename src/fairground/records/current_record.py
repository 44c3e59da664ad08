"""Which record of a run counts when the same spec was run more than once.

A run has one current record; every other stays in its history:
    - a finished run (done) supersedes an earlier failed, diverged or pruned one, and never the other way round;
    - among unfinished records the latest is current;
    - a second done with the same digits is the same news and is not stored again;
    - a second done with the same digits and further scores (the test split opened later) supersedes the first;
    - a second done with other digits is kept in the history and noted as an event of kind `disagreement`.
"""

from dataclasses import replace
from typing import Literal

from fairground.records.record import RunRecord

#: what became of a record: made the run's current one, was there already, or is kept in the history only
Outcome = Literal["current", "repeated", "history"]


def outcome_of(old: RunRecord, new: RunRecord) -> Outcome:
    """Return what becomes of `new`, a further record of the run whose current record is `old`."""
    if old.state != "done":
        return "current"
    if new.state != "done":
        return "history"
    if new.digits() == old.digits():
        return "repeated"
    return "current" if _extends(new, old) else "history"


def _extends(new: RunRecord, old: RunRecord) -> bool:
    """Tell whether `new` is `old` with further scores and nothing else changed."""
    scores = [{(score.metric, score.split, score.value) for score in record.scores} for record in (old, new)]
    return scores[0] < scores[1] and replace(new, scores=old.scores).digits() == old.digits()
