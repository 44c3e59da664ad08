"""TensorBoard: event files in <run directory>/tensorboard/<run>, written without torch or TensorFlow.

Read with: tensorboard --logdir <run directory>/tensorboard
"""

import time
from collections.abc import Iterable
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from fairground.loggers.feed import Introduction, Number

_SETTINGS = "settings"


class TensorboardLogger:
    """A resumed run continues in a second file of the same folder; TensorBoard reads them as one."""

    def __init__(self, run: Introduction, home: Path) -> None:
        folder = home / "tensorboard" / run.name
        #: what is in the folder's files; a file cut short by a kill is read up to the cut
        self._held: set[tuple[str, int]] = set()
        for path in sorted(folder.glob("*.tfevents.*")):
            for event in map(Event.FromString, RawEventFileLoader(str(path)).Load()):
                self._held |= {(value.tag, event.step) for value in event.summary.value}
        self._writer = EventFileWriter(str(folder), flush_secs=5)
        if (_SETTINGS, 0) not in self._held:
            self._add(0, _table(run))

    def write(self, numbers: Iterable[Number]) -> None:
        for tag, epoch, value in numbers:
            if (tag, epoch) not in self._held:
                self._add(epoch, Summary.Value(tag=tag, simple_value=value))
                self._held.add((tag, epoch))
        self._writer.flush()

    def close(self, state: str) -> None:
        self._writer.close()

    def _add(self, step: int, value: Summary.Value) -> None:
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))


def _table(run: Introduction) -> Summary.Value:
    """Return settings and tags as the Markdown table that TensorBoard's text page shows."""
    rows = [f"| {key} | {value.replace('|', '/')} |" for key, value in {**run.tags, **run.settings}.items()]
    text = "\n".join(["| setting | value |", "|-|-|", *rows])
    return Summary.Value(
        tag=_SETTINGS,
        metadata={"plugin_data": {"plugin_name": "text"}},
        tensor={"dtype": "DT_STRING", "string_val": [text.encode()], "tensor_shape": {"dim": [{"size": 1}]}},
    )
