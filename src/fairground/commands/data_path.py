"""Which kind of data is at a path: class folders, a table of images, or features."""

from pathlib import Path

from fairground import loading
from fairground.spec import DataError, Value, canonical, require, settings_of


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
    loading.refuse_archive(path)
    suffix = path.suffix.lower()
    if suffix in (".parquet", ".pq"):
        names = loading.read_parquet(path).column_names
        return "features" if {"features", "embeddings"} & set(names) else "table"
    kinds = {".csv": "table", ".npz": "features", ".npy": "features"}
    require(suffix in kinds, f"'{path}' is not a folder or a CSV, Parquet, .npz or .npy file", DataError)
    return kinds[suffix]
