"""One bar for each run under way, and what is said when a worker dies: what studies and races show alike."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from fairground.records.record import RunRecord

#: columns from which on a terminal has room for a long status next to a bar
WIDE = 110
Watch = Callable[[Mapping[str, Any]], None]
OnRecord = Callable[["RunRecord"], None]


#: signs in records of earlier versions by the words of today
SIGN_WORDS = {"divergence": "overfitting"}


def warn(event: Mapping[str, Any]) -> None:
    """Say off a terminal that a worker died."""
    if "worker_died" in event:
        print(_loss_of(event), file=sys.stderr)


class RunBars:
    """Bars of runs by name; `progress` must have a column for the field `status`."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def watch(self, event: Mapping[str, Any], title: Callable[[str], str] = str) -> None:
        """Move the bar of the run an event is about; `title` turns a run's name into what is shown."""
        if "worker_died" in event:
            self._progress.console.print(_loss_of(event))
        if event.get("kind") != "batch":
            return
        run = event["run"]
        if run not in self._tasks:
            self._tasks[run] = self._progress.add_task(title(run), total=event["of"] * event["batches"], status="")
        done = (event["epoch"] - 1) * event["batches"] + event["batch"]
        status = f"epoch {event['epoch']}, loss {event['loss']:.4f}"
        self._progress.update(self._tasks[run], completed=done, status=status)

    def end(self, run: str) -> None:
        """Take the bar of a run away."""
        if run in self._tasks:
            self._progress.remove_task(self._tasks.pop(run))


def signs_found(record: "RunRecord", said: set[str] | None = None) -> str:
    """Name what the doctor found, each sign once where it is noted what was `said`; `fairground show` says it all."""
    signs = [SIGN_WORDS.get(finding.sign, finding.sign) for finding in record.findings]
    new = [sign for sign in dict.fromkeys(signs) if said is None or sign not in said]
    if said is not None:
        said.update(new)
    return f"  doctor: {', '.join(new)}" if new else ""


def _loss_of(event: Mapping[str, Any]) -> str:
    return f"a worker died ({event['worker_died']}); its run goes on in the next one that is free"
