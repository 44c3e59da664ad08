"""What a run's network takes, noted in its folder: with it the run is used where its training data is no more."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairground.contracts.preprocessing import Preprocessing
from fairground.contracts.table import Images
from fairground.errors import StoreError, require
from fairground.files import read_json, write_atomically
from fairground.records.run_folder import RunFolder
from fairground.spec.run import ComponentSpec, RunSpec
from fairground.training.assemble import Assembled

_FILE = "inputs.json"
#: images whose sizes are asked to see whether all have one
_LOOKED_AT = 512


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
    """Note a profile in a run's folder."""
    write_atomically(folder.path / _FILE, json.dumps(asdict(profile), ensure_ascii=False).encode())


def read_profile(folder: RunFolder) -> InputProfile | None:
    """Return what was noted, or None where nothing was, as in runs of earlier versions."""
    path = folder.path / _FILE
    if not path.is_file():
        return None
    data: dict[str, Any] = read_json(path, error=StoreError)
    try:
        found = {name: tuple(data["preprocessing"][name]) for name in ("mean", "deviation")}
        size = data["size"]
        return InputProfile(
            **{
                **data,
                "size": None if size is None else (int(size[0]), int(size[1])),
                "classes": tuple(str(name) for name in data["classes"]),
                "preprocessing": Preprocessing(**{**data["preprocessing"], **found}),
            }
        )
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StoreError(f"{path} is damaged: {error}") from error


def missing_place(data: ComponentSpec) -> str:
    """Return the path that a data set is read from where nothing is there any more; empty otherwise."""
    place = data.settings.get("root") or data.settings.get("path")
    return place if isinstance(place, str) and place and not Path(place).expanduser().exists() else ""


def require_profile(folder: RunFolder, place: str) -> InputProfile:
    """Return a run's profile, or say that its data is needed."""
    found = read_profile(folder)
    require(
        found is not None,
        f"the data of run {folder.name} lies no longer at '{place}', and the run is of an earlier version that did not "
        "note what its network takes; put the data back",
        StoreError,
    )
    assert found is not None
    return found


def _common_size(images: Images) -> tuple[int, int] | None:
    if not images.is_picture:
        return None
    sizes = images.sizes(np.arange(min(len(images), _LOOKED_AT)))
    is_one = bool((sizes == sizes[0]).all())
    return (int(sizes[0, 0]), int(sizes[0, 1])) if is_one else None
