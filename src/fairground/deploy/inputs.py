"""What a user points at, as rows to embed: a folder, a table, one image, features, a data set; and small pictures."""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from fairground.contracts.dataset import Images
from fairground.loading import FeatureRows, ImageFiles, PhotoDataset, for_each, read_parquet, shrunk_picture
from fairground.loading.class_folders import files_below, is_image_name, refuse_archive
from fairground.records.arrays import array_names, map_array, map_npy, read_arrays
from fairground.spec import ComponentSpec, DataError, list_room, nearest, require, settings_of
from fairground.training.assemble import build

_FEATURES = ("features", "embeddings")
#: pictures decoded at once, and unreadable ones named in a sentence
BLOCK = 256
_SHOWN = 10
#: longer side of a small picture; up to the second size a picture is kept exactly, as PNG
SIDE, _EXACT = 128, 64
Tell = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class EmbeddingInputs:
    """`names` say where each row comes from; `labels` (n,) index `class_names`, where classes are known.

    `left_out` are the names of unreadable pictures that the user asked to leave out.
    """

    images: Images
    names: tuple[str, ...]
    labels: np.ndarray | None = None
    class_names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.names)


#: what can be embedded: a path, a data set's name, a list of image files, or inputs that were read before
Embeddable = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | EmbeddingInputs


def read_inputs(data: Embeddable) -> EmbeddingInputs:
    """Return the rows of what is at a path, of a list of images, or of a data set; nothing is decoded yet."""
    if isinstance(data, EmbeddingInputs):
        return data
    if not isinstance(data, str | os.PathLike):
        paths = [Path(path).expanduser() for path in data]
        require(len(paths) > 0, "there is nothing to embed: the list of image files is empty")
        return EmbeddingInputs(images=ImageFiles(paths, root=Path()), names=tuple(map(str, paths)))
    path = Path(data).expanduser()
    if not path.exists():
        settings = {name: settings_of("datasets", name).values() for name in list_room("datasets")}
        known = [name for name, found in settings.items() if not any(setting.is_required for setting in found)]
        is_known = str(data) in known
        require(is_known, f"'{data}' is neither a file nor a built-in dataset.{nearest(str(data), known)}", DataError)
        return _dataset(str(data))
    if path.is_dir():
        return _loose_images(path) or _dataset("folder", root=str(path))
    refuse_archive(path)
    suffix = path.suffix.lower()
    if is_image_name(path.name):
        return EmbeddingInputs(images=ImageFiles([path], root=path.parent), names=(path.name,))
    is_parquet = suffix in (".parquet", ".pq")
    if suffix == ".csv" or (is_parquet and not set(_FEATURES) & set(read_parquet(path).column_names)):
        return _dataset("table", path=str(path))
    kinds = "a folder of images, an image, a table (.csv, .parquet) or a file of features (.npz, .npy)"
    require(is_parquet or suffix in (".npz", ".npy"), f"'{path}' is not {kinds}", DataError)
    return _features(path)


def _dataset(name: str, **given: str) -> EmbeddingInputs:
    """Return files as they are listed: one that is missing is reported with all others that cannot be read."""
    defaults = {key: setting.default for key, setting in settings_of("datasets", name).items()}
    dataset = build("data", ComponentSpec(name=name, settings={**defaults, **given}))
    table = dataset.photos() if given and isinstance(dataset, PhotoDataset) else dataset.load()
    names = table.identifiers or tuple(f"row {row}" for row in range(len(table.labels)))
    return EmbeddingInputs(images=table.images, names=names, labels=table.labels, class_names=table.class_names)


def _loose_images(folder: Path) -> EmbeddingInputs | None:
    """Return all images below a folder that has some of them outside class folders, without labels; None otherwise."""
    found = sorted(filter(is_image_name, files_below(folder)))
    if all("/" in name for name in found):
        return None
    return EmbeddingInputs(images=ImageFiles([folder / name for name in found], root=folder), names=tuple(found))


def _features(path: Path) -> EmbeddingInputs:
    """Return features with their labels where the file has some; labels are not needed to embed."""
    array = None
    if path.suffix.lower() == ".npy":
        array = map_npy(path)
    elif path.suffix.lower() == ".npz":
        held = array_names(path)
        named = next((name for name in _FEATURES if name in held), None)
        if named is not None and not {"labels", "label"} & set(held):
            mapped = map_array(path, named)
            array = read_arrays(path, [named])[named] if mapped is None else mapped
    if array is None:
        return _dataset("features", path=str(path))
    rows = FeatureRows(array, origin=str(path))
    return EmbeddingInputs(images=rows, names=tuple(f"row {row}" for row in range(len(rows))))


def unreadable(inputs: EmbeddingInputs, tell: Tell = lambda *_: None) -> dict[str, str]:
    """Return the name of each picture that cannot be read with the reason; every picture is decoded."""
    images = inputs.images
    if not isinstance(images, ImageFiles):
        return {}
    faults: dict[str, str] = {}

    def look(row: int) -> str | None:
        try:
            images.picture(row)
        except DataError as error:
            return str(error)
        return None

    for begin in range(0, len(inputs), BLOCK):
        end = min(begin + BLOCK, len(inputs))
        found = zip(inputs.names[begin:end], for_each(look, range(begin, end)), strict=True)
        faults.update({name: reason for name, reason in found if reason is not None})
        tell(end, len(inputs))
    return faults


def without(inputs: EmbeddingInputs, faults: Mapping[str, str]) -> EmbeddingInputs:
    """Return the rows that can be read, with the names of the others in `left_out`."""
    images = inputs.images
    if not faults or not isinstance(images, ImageFiles):
        return inputs
    kept = np.array([row for row, name in enumerate(inputs.names) if name not in faults], np.int64)
    require(len(kept) > 0, f"none of the {len(inputs)} pictures can be read; {listed(faults)}", DataError)
    boxes = None if images.boxes is None else images.boxes[kept]
    return replace(
        inputs,
        images=ImageFiles([images.paths[row] for row in kept], root=images.root, boxes=boxes),
        names=tuple(inputs.names[row] for row in kept),
        labels=None if inputs.labels is None else inputs.labels[kept],
        left_out=tuple(faults),
    )


def listed(faults: Mapping[str, str]) -> str:
    """Return the reasons of the first few, and how many more there are."""
    lines = [f"\n  {reason}" for reason in list(faults.values())[:_SHOWN]]
    more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return f"{len(faults)} cannot be read:{''.join(lines)}{more}"


def thumbnails_of(images: Images, tell: Tell = lambda *_: None) -> Iterator[bytes]:
    """Yield the small picture of each row in order; empty bytes for features."""
    for begin in range(0, len(images), BLOCK):
        rows = range(begin, min(begin + BLOCK, len(images)))
        yield from for_each(partial(thumbnail, images), rows) if images.is_picture else [b""] * len(rows)
        tell(rows.stop, len(images))


def thumbnail(images: Images, row: int) -> bytes:
    picture, _ = shrunk_picture(images, row, SIDE)
    is_small = max(picture.size) <= _EXACT
    if not is_small:
        picture.thumbnail((SIDE, SIDE))
    out = io.BytesIO()
    picture.save(out, "PNG") if is_small else picture.save(out, "JPEG", quality=82)
    return out.getvalue()
