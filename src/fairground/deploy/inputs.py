"""What a user points at, as rows to embed: a folder of images, a table, one image, features, or a data set's name."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairground.contracts.table import Images, ImageTable
from fairground.errors import DataError, require
from fairground.loading.archives import refuse_archive
from fairground.loading.class_folders import is_image_name
from fairground.loading.feature_rows import FeatureRows
from fairground.loading.image_files import ImageFiles
from fairground.loading.photo_dataset import PhotoDataset
from fairground.loading.table_columns import read_parquet
from fairground.records.arrays import array_names, map_array, map_npy, read_arrays
from fairground.spec.catalogue import list_room, nearest
from fairground.spec.declarations import settings_of
from fairground.spec.run import ComponentSpec
from fairground.training.build import build_dataset

_FEATURES = ("features", "embeddings")


@dataclass(frozen=True, kw_only=True)
class EmbeddingInputs:
    """`names` say where each row comes from; `labels` (n,) index `class_names`, where classes are known.

    `left_out` are the names of pictures that were there but cannot be read, where the user said to do without them.
    """

    images: Images
    names: tuple[str, ...]
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)


def read_inputs(data: str | Path) -> EmbeddingInputs:
    """Return the rows of what is at a path, or of a data set such as `icons`; nothing is decoded yet."""
    path = Path(data).expanduser()
    if not path.exists():
        return _by_name(str(data))
    if path.is_dir():
        loose = _loose_images(path)
        return loose if loose is not None else _from_files(_part("folder", root=str(path)))
    refuse_archive(path)
    suffix = path.suffix.lower()
    if is_image_name(path.name):
        return EmbeddingInputs(images=ImageFiles([path], root=path.parent), names=(path.name,))
    if suffix == ".csv" or (suffix in (".parquet", ".pq") and not set(_FEATURES) & set(_columns(path))):
        return _from_files(_part("table", path=str(path)))
    require(
        suffix in (".npz", ".npy", ".parquet", ".pq"),
        f"'{path}' is no folder of images, no image, no table (.csv, .parquet) and no file of features (.npz, .npy)",
        DataError,
    )
    return _features(path)


def _by_name(name: str) -> EmbeddingInputs:
    known = [
        word for word in list_room("datasets") if not any(s.is_required for s in settings_of("datasets", word).values())
    ]
    require(
        name in known,
        f"there is nothing at '{name}', and no data set of that name can be had without a path.{nearest(name, known)}",
        DataError,
    )
    return _from_table(build_dataset(_part(name)).load())


def _part(name: str, **said: str) -> ComponentSpec:
    defaults = {word: setting.default for word, setting in settings_of("datasets", name).items() if word not in said}
    return ComponentSpec(name=name, settings={**defaults, **said})


def _from_files(part: ComponentSpec) -> EmbeddingInputs:
    """Return files as they are listed: one that is not there is noticed with all others that cannot be read."""
    dataset = build_dataset(part)
    return _from_table(dataset.photos().table() if isinstance(dataset, PhotoDataset) else dataset.load())


def _from_table(table: ImageTable) -> EmbeddingInputs:
    names = table.identifiers or tuple(f"row {row}" for row in range(len(table.labels)))
    return EmbeddingInputs(images=table.images, names=names, labels=table.labels, class_names=table.class_names)


def _loose_images(folder: Path) -> EmbeddingInputs | None:
    """Return all images below a folder that has some of them outside class folders, without labels; None otherwise."""
    try:
        with os.scandir(folder) as entries:
            is_loose = any(entry.is_file() and _is_shown(entry.name) for entry in entries)
    except OSError as error:
        raise DataError(f"cannot look into the folder {folder}: {error.strerror}") from error
    if not is_loose:
        return None
    found: list[str] = []
    for here, folders, files in os.walk(folder):  # links to folders are not followed, so there are no loops
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found.extend(os.path.relpath(os.path.join(here, name), folder) for name in files if _is_shown(name))  # noqa: PTH118
    found.sort()
    for name in found:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"a file below {folder} has a name that is not UTF-8: {os.fsencode(name)!r}") from error
    return EmbeddingInputs(images=ImageFiles([folder / name for name in found], root=folder), names=tuple(found))


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and is_image_name(name)


def _columns(path: Path) -> list[str]:
    return list(read_parquet(path).column_names)


def _features(path: Path) -> EmbeddingInputs:
    """Return features with their labels where the file has some; labels are not needed to embed."""
    if path.suffix.lower() == ".npy":
        return _bare(FeatureRows(map_npy(path), origin=str(path)))
    if path.suffix.lower() == ".npz":
        held = array_names(path)
        named = next((word for word in _FEATURES if word in held), None)
        if named is not None and not {"labels", "label"} & set(held):
            mapped = map_array(path, named)
            array = read_arrays(path, [named])[named] if mapped is None else mapped
            return _bare(FeatureRows(array, origin=str(path)))
    return _from_table(build_dataset(_part("features", path=str(path))).load())


def _bare(rows: FeatureRows) -> EmbeddingInputs:
    return EmbeddingInputs(images=rows, names=tuple(f"row {row}" for row in range(len(rows))))
