"""TensorBoard: event files in <run directory>/tensorboard/<run>, written without torch or TensorFlow.

Read with: tensorboard --logdir <run directory>/tensorboard
"""

import time
from collections.abc import Iterable
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.types_pb2 import DT_STRING
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from fairground.loggers.feed import Introduction, Number, RunLogger

_SETTINGS = "settings"


class TensorboardLogger(RunLogger):
    """A resumed run continues in a second file of the same folder; TensorBoard reads them as one."""

    def __init__(self, run: Introduction, home: Path) -> None:
        folder = home / "tensorboard" / run.name
        self._held = _held(folder)
        self._writer = EventFileWriter(str(folder), flush_secs=5)
        if (_SETTINGS, 0) not in self._held:
            self._add(0, _table(run))

    def write(self, numbers: Iterable[Number]) -> None:
        """Write scalars, the epoch as TensorBoard's step."""
        for tag, epoch, value in numbers:
            if (tag, epoch) not in self._held:
                self._add(epoch, Summary.Value(tag=tag, simple_value=value))
                self._held.add((tag, epoch))
        self._writer.flush()

    def close(self, state: str) -> None:
        """End the file."""
        self._writer.close()

    def _add(self, step: int, value: Summary.Value) -> None:
        self._writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))


def _held(folder: Path) -> set[tuple[str, int]]:
    """Return what is in the folder's files; a file cut short by a kill is read up to the cut."""
    found: set[tuple[str, int]] = set()
    for path in sorted(folder.glob("*.tfevents.*")):
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            found |= {(value.tag, event.step) for value in event.summary.value}
    return found


def _table(run: Introduction) -> Summary.Value:
    """Return settings and tags as the Markdown table that TensorBoard's text page shows."""
    rows = [f"| {key} | {value.replace('|', '/')} |" for key, value in {**run.tags, **run.settings}.items()]
    text = "\n".join(["| setting | value |", "|-|-|", *rows])
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
    return Summary.Value(
        tag=_SETTINGS,
        metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text")),
        tensor=TensorProto(dtype=DT_STRING, string_val=[text.encode()], tensor_shape=shape),
    )
