"""What a run reports while it works, for progress bars and loggers."""

from collections.abc import Callable
from dataclasses import dataclass

from fairground.records.record import EpochRow


@dataclass(frozen=True, kw_only=True)
class BatchTrained:
    """`loss` is the mean over the batches of the epoch so far."""

    epoch: int
    n_epochs: int
    batch: int
    n_batches: int
    loss: float
    images_per_second: float


@dataclass(frozen=True, kw_only=True)
class EpochEnded:
    """The epoch's row, as it stands in the record."""

    row: EpochRow
    n_epochs: int


@dataclass(frozen=True, kw_only=True)
class MeasuringStarted:
    """Validation, or the untrained model."""

    n_images: int


@dataclass(frozen=True, kw_only=True)
class SignFound:
    """The doctor's finding, as it stands in the record."""

    sign: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Note:
    """Something to know that is not a warning."""

    sentence: str


@dataclass(frozen=True, kw_only=True)
class ImagesPrepared:
    """How far the cache of resized images is."""

    n_done: int
    n_images: int


@dataclass(frozen=True, kw_only=True)
class StagesCached:
    """`n_done` of `n_views` outputs of frozen stages are in `folder`, where all of them take `n_bytes`."""

    n_done: int
    n_views: int
    images_per_second: float
    n_bytes: int
    folder: str


Event = BatchTrained | EpochEnded | MeasuringStarted | SignFound | Note | ImagesPrepared | StagesCached
Listener = Callable[[Event], None]
