"""What a run reports while it works, for progress bars and loggers."""

from collections.abc import Callable
from typing import NamedTuple

from fairground.records.record import EpochRow


class BatchTrained(NamedTuple):
    """`loss` is the mean over the batches of the epoch so far."""

    epoch: int
    n_epochs: int
    batch: int
    n_batches: int
    loss: float
    images_per_second: float


class EpochEnded(NamedTuple):
    """The epoch's row, as it stands in the record."""

    row: EpochRow
    n_epochs: int


class MeasuringStarted(NamedTuple):
    """Validation, or the untrained model."""

    n_images: int


class SignFound(NamedTuple):
    """The doctor's finding, as it stands in the record."""

    sign: str
    sentence: str


class Note(NamedTuple):
    """Something to know that is not a warning."""

    sentence: str


class ImagesPrepared(NamedTuple):
    """How far the cache of resized images is."""

    n_done: int
    n_images: int


class StagesCached(NamedTuple):
    """`n_done` of `n_views` outputs of frozen stages are in `folder`, where all of them take `n_bytes`."""

    n_done: int
    n_views: int
    images_per_second: float
    n_bytes: int
    folder: str


Event = BatchTrained | EpochEnded | MeasuringStarted | SignFound | Note | ImagesPrepared | StagesCached
Listener = Callable[[Event], None]
