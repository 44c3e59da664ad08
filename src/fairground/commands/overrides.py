"""Overrides of a spec from Python keywords, and from the path of a data set."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairground.errors import DataError, InputError, require
from fairground.loading.class_folders import refuse_archive
from fairground.spec import ROOM_OF, Value, canonical, settings_of

#: what a keyword may be: a value, or a table of them
Setting = str | int | float | bool | None | os.PathLike[str] | Sequence["Setting"] | Mapping[str, "Setting"]


def keyword_overrides(settings: Mapping[str, Setting]) -> dict[str, Value]:
    """Return keywords as overrides by dotted name: `optimiser={"lr": 1e-3}` sets `optimiser.lr`.

    In the table of a component, `name` is the component itself.
    """
    found: dict[str, Value] = {}
    for key, value in settings.items():
        is_table = isinstance(value, Mapping) and "." not in key
        entries = value.items() if isinstance(value, Mapping) and is_table else [("", value)]
        for inner, item in entries:
            is_name = not inner or (inner == "name" and key in ROOM_OF)
            dotted = key if is_name else f"{key}.{inner}"
            require(dotted not in found, f"'{dotted}' is given twice")
            plain = _plain(dotted, item)
            found[dotted] = None if isinstance(plain, str) and plain.lower() == "none" else plain
    return found


def _plain(key: str, value: Any) -> Value:
    # A scalar of NumPy becomes a Python number.
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, Mapping):
        return {str(inner): _plain(key, item) for inner, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_plain(key, item) for item in value]
    raise InputError(
        f"{key} must be text, a number, true or false, None, or a list or table of these; got {type(value).__name__}"
    )


def data_overrides(path: Path | None, dataset: str | None) -> dict[str, Value]:
    """Return the overrides that name a data set: by its kind if given, otherwise by what is at the path."""
    name = canonical("datasets", dataset) if dataset is not None else _kind(path or Path())
    if path is None:
        return {"data": name}
    known = settings_of("datasets", name)
    key = "path" if "path" in known else "root"
    require(key in known, f"data set {name} is not read from a path; leave out '{path}'")
    return {"data": name, f"data.{key}": str(path)}


def _kind(path: Path) -> str:
    require(path.exists(), f"there is nothing at '{path}'", DataError)
    if path.is_dir():
        return "folder"
    refuse_archive(path)
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        from fairground.loading.csv_columns import read_parquet

        names = read_parquet(path).column_names
        return "features" if {"features", "embeddings"} & set(names) else "table"
    kinds = {".csv": "table", ".npz": "features", ".npy": "features"}
    require(
        suffix in kinds,
        f"'{path}' is not a folder or a CSV, Parquet, .npz or .npy file; name its kind with --dataset",
        DataError,
    )
    return kinds[suffix]
