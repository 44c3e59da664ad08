"""The words that name a data set, from a path or a name."""

import json
from pathlib import Path

from fairground.errors import DataError, require
from fairground.loading.class_folders import refuse_archive
from fairground.spec.catalogue import canonical
from fairground.spec.declarations import settings_of


def data_words(path: Path | None, dataset: str | None) -> list[str]:
    """Return the override words that name a data set: by its kind if said, otherwise by what lies at the path."""
    name = canonical("datasets", dataset) if dataset is not None else _kind(path or Path())
    if path is None:
        return [f"data={name}"]
    known = settings_of("datasets", name)
    key = "path" if "path" in known else "root"
    require(key in known, f"data set {name} is not read from a path; leave out '{path}'")
    # Quoted, so that a folder called 2024 stays a name.
    return [f"data={name}", f"data.{key}={json.dumps(str(path), ensure_ascii=False)}"]


def _kind(path: Path) -> str:
    """Guess what kind of data set a path is."""
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
        f"'{path}' is no folder, CSV, Parquet, .npz or .npy file; name its kind with --dataset",
        DataError,
    )
    return kinds[suffix]
