"""Which record counts where a run was finished more than once."""

from dataclasses import replace
from typing import Literal

from fairground.records import RunRecord

#: what happened to a new record: it is the current one, it repeats the current one, or it is in the history only
Outcome = Literal["current", "repeated", "history"]


def outcome_of(old: RunRecord, new: RunRecord) -> Outcome:
    """Return what happens to `new`, a further record of the run whose current record is `old`.

    A done run supersedes one that is not, never the other way round; of runs that are not done the latest is current.
    A second done run supersedes the first only if it adds scores (the test split was opened) and changes nothing else.
    """
    if old.state != "done":
        return "current"
    if new.state != "done":
        return "history"
    if new.digits() == old.digits():
        return "repeated"
    before, after = ({(score.metric, score.split, score.value) for score in run.scores} for run in (old, new))
    is_extended = before < after and replace(new, scores=old.scores).digits() == old.digits()
    return "current" if is_extended else "history"
