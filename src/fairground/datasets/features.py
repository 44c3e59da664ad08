"""Ready-made features of a frozen encoder of any kind, so that heads alone are trained: hundreds of runs an hour.

Formula
    .npz      `features` or `embeddings` (n, d) and `labels` (n,) [, `class_names` or `classes` (C,), `split` (n,),
              `groups` (n,), `files` (n,), `super_labels` (n,) or, with ever wider ones, (n, k),
              `query` and `gallery` (n,) of truth values: who searches whom at the end]
    .npy      features (n, d), with the labels in another .npy file
    labels    numbers or text; text like red|round gives a row several, the first of which is its class where needed
    .parquet  a column `features` or `embeddings` of lists and a column `label` or `labels` [, `split`, `group`]

Paper
    None.

Departures from the paper
    Nothing pickled is read. Features stay on disk where the file is not compressed, and are given out as float32.
"""

from pathlib import Path
from typing import Any

import numpy as np

from fairground.contracts.dataset import DataError, Dataset, ImageTable, label_sets_of, require
from fairground.loading import FeatureRows, held_out, parts_from_words, read_parquet
from fairground.records.arrays import array_names, map_array, map_npy, read_arrays

_FEATURES = ("features", "embeddings")
_LABELS = ("labels", "label")
_OPTIONAL = ("class_names", "classes", "split", "groups", "group", "files", "super_labels", "query", "gallery")
_SPLIT_NUMBERS = {"0": "train", "1": "test"}


class FeaturesDataset(Dataset):
    """`path` is the file of features; `labels` that of their labels, for .npy files only.

    Labels may be numbers or text. A `split` is train, validation or test, or 0 and 1 for train and test.
    """

    def __init__(self, *, path: str, labels: str = "") -> None:
        suffix = Path(path).suffix.lower()
        refusal = f"features.path must be an .npz, .npy or .parquet file; got '{path}'"
        require(suffix in (".npz", ".npy", ".parquet", ".pq"), refusal)
        wanted = "the .npy file of labels when features.path is an .npy file, and only then"
        require((suffix == ".npy") == bool(labels), f"features.labels must be {wanted}; got '{labels}' for '{path}'")
        self.path, self.labels = path, labels

    def version(self) -> tuple[str | int, ...] | None:
        """Return place, length and time of change of every file; None where one is not there."""
        files = [Path(path).expanduser() for path in (self.path, self.labels) if path]
        try:
            found = [(str(file.absolute()), file.stat()) for file in files]
        except OSError:
            return None
        return tuple(word for path, stat in found for word in (path, stat.st_size, stat.st_mtime_ns))

    def load(self) -> ImageTable:
        path = Path(self.path).expanduser()
        require(path.exists(), f"features.path: there is no file '{path}'", DataError)
        if path.suffix.lower() == ".npz":
            names = array_names(path)
            features, labels = _one_of(path, names, _FEATURES), _one_of(path, names, _LABELS)
            optional = [name for name in _OPTIONAL if name in names]
            columns = {_own_name(name): array for name, array in read_arrays(path, [labels, *optional]).items()}
            mapped = map_array(path, features)
            columns["features"] = read_arrays(path, [features])[features] if mapped is None else mapped
        elif path.suffix.lower() == ".npy":
            columns = {"features": map_npy(path), "labels": map_npy(Path(self.labels).expanduser())}
        else:
            columns = _from_parquet(path)
        return _table(columns, str(path))


def _table(columns: dict[str, np.ndarray], origin: str) -> ImageTable:
    images = FeatureRows(columns["features"], origin=origin)
    labels, names, sets = columns["labels"], columns.get("class_names"), None
    if labels.ndim == 1 and labels.dtype.kind == "U" and bool((np.char.find(labels, "|") >= 0).any()):
        numbers, sets, class_names = label_sets_of(labels.tolist(), origin)
    else:
        numbers, class_names = _classes(labels, names, origin)
    refusal = f"{origin} has {len(images)} rows of features but {len(labels)} labels"
    require(len(labels) == len(images), refusal, DataError)
    for side in ("query", "gallery"):
        is_right = side not in columns or (columns[side].dtype == bool and columns[side].shape == labels.shape)
        require(is_right, f"{origin}: {side} must be a truth value per row, (n,)", DataError)
    parts, groups, files = columns.get("split"), columns.get("groups"), columns.get("files")
    if parts is not None:
        words = [_SPLIT_NUMBERS.get(str(word), str(word)) for word in parts.tolist()]
        parts = parts_from_words(words, origin)
    return ImageTable(
        images=images,
        labels=numbers,
        class_names=class_names,
        label_sets=sets,
        official_test=None if parts is None else held_out(parts),
        listed_parts=parts,
        is_query=columns.get("query"),
        is_gallery=columns.get("gallery"),
        groups=None if groups is None else np.unique(groups, return_inverse=True)[1].astype(np.int64),
        identifiers=None if files is None else tuple(str(name) for name in files.tolist()),
        **_super_labels(columns.get("super_labels"), len(labels), origin),
    )


def _super_labels(given: np.ndarray | None, n: int, origin: str) -> dict[str, Any]:
    """Return the numbers of the super-classes of every row, and those of ever wider ones where there are any."""
    if given is None:
        return {}
    is_right = given.ndim in (1, 2) and len(given) == n and given.dtype.kind in "iuUS"
    refusal = f"super_labels must be whole numbers or text, (n,) or (n, k); {origin} has {given.dtype} {given.shape}"
    require(is_right, refusal, DataError)
    numbers = [np.unique(column, return_inverse=True)[1] for column in given.reshape(n, -1).T]
    wider = {"wider_labels": np.column_stack(numbers[1:])} if len(numbers) > 1 else {}
    return {"super_labels": numbers[0], **wider}


def _classes(labels: np.ndarray, names: np.ndarray | None, origin: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return labels as 0..C-1 and the class names."""
    require(labels.ndim == 1, f"labels must be one per item, (n,); {origin} has shape {labels.shape}", DataError)
    refusal = f"labels must be whole numbers or text; {origin} has {labels.dtype}"
    require(labels.dtype.kind in "iuUS", refusal, DataError)
    if names is not None and labels.dtype.kind in "iu":
        is_within = len(labels) > 0 and labels.min() >= 0 and labels.max() < len(names)
        require(is_within, f"{origin}: labels must be in 0..{len(names) - 1}, the {len(names)} class names", DataError)
        return labels.astype(np.int64), tuple(str(name) for name in names.tolist())
    found, numbers = np.unique(labels, return_inverse=True)
    return numbers.astype(np.int64), tuple(str(name) for name in found.tolist())


def _from_parquet(path: Path) -> dict[str, np.ndarray]:
    table = read_parquet(path)
    names = list(table.column_names)
    wanted = [_one_of(path, names, _FEATURES), _one_of(path, names, _LABELS)]
    columns = {
        _own_name(name): np.array([str(word) for word in table.column(name).to_pylist()])
        for name in names
        if name in ("split", "groups", "group", "files", "path")
    }
    columns["labels"] = np.array(table.column(wanted[1]).to_pylist())
    columns["features"] = _matrix(path, wanted[0], table.column(wanted[0]).combine_chunks())
    return columns


def _matrix(path: Path, name: str, lists: Any) -> np.ndarray:
    """Return a column of lists as (n, d), without a Python object for each number."""
    is_lists = hasattr(lists, "flatten") and lists.null_count == 0
    require(is_lists, f"{path}: '{name}' must be a column of lists, none of them missing", DataError)
    values = np.asarray(lists.flatten().to_numpy(zero_copy_only=False))
    ends = np.diff(lists.offsets.to_numpy()) if hasattr(lists, "offsets") else np.full(len(lists), lists.type.list_size)
    widths = np.unique(ends)
    refusal = f"{path}: the lists of '{name}' must be of one length; they have {widths[:1]} to {widths[-1:]} entries"
    require(len(widths) == 1, refusal, DataError)
    return values.reshape(len(lists), int(widths[0]))


def _own_name(name: str) -> str:
    return {"classes": "class_names", "group": "groups", "label": "labels", "path": "files"}.get(name, name)


def _one_of(path: Path, names: list[str], wanted: tuple[str, ...]) -> str:
    found = [name for name in wanted if name in names]
    refusal = f"{path} must have one of {' and '.join(wanted)}; it has {', '.join(names) or 'nothing'}"
    require(len(found) == 1, refusal, DataError)
    return found[0]
