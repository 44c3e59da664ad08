"""Plain numbers about data: a first look at a data set, and what a finished run's network takes.

The second is written into the run's folder, so that the run can be used where its training data is gone.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from fairground.contracts.model import Preprocessing
from fairground.contracts.table import Images
from fairground.errors import StoreError, require
from fairground.files import read_json, write_atomically
from fairground.records.run_folder import RunFolder
from fairground.spec.run import ComponentSpec, RunSpec
from fairground.training.assemble import Assembled
from fairground.training.build import build_dataset

_FILE = "inputs.json"
#: images whose sizes are read to see whether all have one
_LOOKED_AT = 512


@dataclass(frozen=True, kw_only=True)
class DatasetProfile:
    """`class_sizes` are images per class; `shorter_side` is the median, 0 for features; `width` counts channels or
    features; `lists_parts` says that the data names its own test part.
    """

    n_images: int
    class_sizes: tuple[int, ...]
    is_picture: bool
    width: int
    shorter_side: int
    is_one_size: bool
    lists_parts: bool
    has_test_half: bool


def profile_dataset(data: ComponentSpec) -> DatasetProfile:
    """Return what can be seen without opening every image: what a choice of split, network and protocol rests on."""
    table = build_dataset(data).load()
    images = table.images
    some = np.unique(np.linspace(0, len(images) - 1, min(len(images), _LOOKED_AT)).astype(np.int64))
    sizes = images.sizes(some) if images.is_picture else np.zeros((1, 2), np.int64)
    counts = np.bincount(table.labels)
    return DatasetProfile(
        n_images=len(table.labels),
        class_sizes=tuple(int(count) for count in counts[counts > 0]),
        is_picture=images.is_picture,
        width=images.channels,
        shorter_side=int(np.median(sizes.min(axis=1))),
        is_one_size=bool((sizes == sizes[0]).all()),
        lists_parts=table.listed_parts is not None,
        has_test_half=table.official_test is not None,
    )


@dataclass(frozen=True, kw_only=True)
class InputProfile:
    """`size` is the height and width of the images, where all have one; `classes` are those trained on."""

    is_picture: bool
    channels: int
    size: tuple[int, int] | None
    classes: tuple[str, ...]
    embedding_dim: int
    is_normalised: bool
    preprocessing: Preprocessing
    data_fingerprint: str
    split_fingerprint: str


def profile_of(spec: RunSpec, parts: Assembled) -> InputProfile:
    """Return the profile of a run's data."""
    images, labels = parts.table.images, parts.table.labels
    trained = np.unique(labels[parts.split.train])
    return InputProfile(
        is_picture=images.is_picture,
        channels=images.channels,
        size=_common_size(images),
        classes=tuple(parts.table.class_names[label] for label in trained),
        embedding_dim=parts.model.head.embedding_dim,
        is_normalised=parts.on_sphere(spec.evaluation),
        preprocessing=parts.model.trunk.preprocessing,
        data_fingerprint=parts.data_fingerprint,
        split_fingerprint=parts.split_fingerprint,
    )


def write_profile(folder: RunFolder, profile: InputProfile) -> None:
    """Write a profile into a run's folder."""
    write_atomically(folder.path / _FILE, json.dumps(asdict(profile), ensure_ascii=False).encode())


def missing_place(data: ComponentSpec) -> str:
    """Return the path that a data set is read from where it is gone; empty otherwise."""
    place = data.settings.get("root") or data.settings.get("path")
    return place if isinstance(place, str) and place and not Path(place).expanduser().exists() else ""


def read_profile(folder: RunFolder, place: str) -> InputProfile:
    """Return the profile of a run whose data is no longer at `place`."""
    path = folder.path / _FILE
    require(
        path.is_file(),
        f"the data of run {folder.name} is no longer at '{place}', and the run did not note what its network takes; "
        "put the data back",
        StoreError,
    )
    data = read_json(path, error=StoreError)
    shape = data["preprocessing"]
    preprocessing = Preprocessing(**{**shape, "mean": tuple(shape["mean"]), "deviation": tuple(shape["deviation"])})
    size = None if data["size"] is None else (int(data["size"][0]), int(data["size"][1]))
    return InputProfile(**{**data, "size": size, "classes": tuple(data["classes"]), "preprocessing": preprocessing})


def _common_size(images: Images) -> tuple[int, int] | None:
    if not images.is_picture:
        return None
    sizes = images.sizes(np.arange(min(len(images), _LOOKED_AT)))
    is_one = bool((sizes == sizes[0]).all())
    return (int(sizes[0, 0]), int(sizes[0, 1])) if is_one else None
