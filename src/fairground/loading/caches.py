"""The caches of this user: where they are, and their list. To remove one, delete its folder."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from fairground.spec import StoreError, cache_folder, read_with_digest

#: prepared images, and outputs of the stages of a trunk that do not train
CacheKind = Literal["prepared", "stages"]
#: an empty file whose time of change is when the cache was last opened
USED = "used"
#: what a cache is of; prepared images have it once all of them are there
INDEX = "index.json"


def cache_root(kind: CacheKind = "prepared") -> Path:
    return cache_folder(kind)


def read_index(folder: Path) -> dict[str, Any]:
    """Return the index of a cache; empty where it is missing or damaged."""
    with suppress(StoreError):
        return read_with_digest(folder / INDEX)
    return {}


def touch(folder: Path) -> None:
    with suppress(OSError):  # one that cannot be written to is as good as any
        (folder / USED).touch()


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """One cache: the folder its images came from (empty where not noted), their number, bytes, last use.

    Prepared images have a `side`; outputs of frozen stages name the `trunk` and how many of its stages are frozen. One
    that is not complete is being built, or was interrupted and will be continued.
    """

    kind: CacheKind
    key: str
    source: str = ""
    n_images: int
    side: int = 0
    trunk: str = ""
    n_frozen: int = 0
    n_bytes: int
    last_used: float
    is_complete: bool


def list_caches() -> list[CacheEntry]:
    """Return every cache of this user, the one longest unused first."""
    kinds: tuple[CacheKind, ...] = get_args(CacheKind)
    folders = [(kind, path) for kind in kinds for path in cache_root(kind).glob("*") if not path.suffix]
    found = [_entry(kind, folder) for kind, folder in folders if folder.is_dir()]
    return sorted((entry for entry in found if entry is not None), key=lambda entry: (entry.last_used, entry.key))


def _entry(kind: CacheKind, folder: Path) -> CacheEntry | None:
    try:
        # Blocks on disk rather than lengths: the files of frozen stages have holes until they are filled.
        files = [path.stat() for path in folder.iterdir() if path.is_file()]
        marks = [folder / name for name in (USED, INDEX) if (folder / name).exists()]
        last_used = max((path.stat().st_mtime for path in marks), default=folder.stat().st_mtime)
    except OSError:
        return None
    index = read_index(folder)
    return CacheEntry(
        kind=kind,
        key=folder.name,
        n_images=index.get("n", 0),
        **{name: index[name] for name in ("source", "side", "trunk", "n_frozen") if name in index},
        n_bytes=sum(min(file.st_size, 512 * getattr(file, "st_blocks", file.st_size)) for file in files),
        last_used=last_used,
        is_complete=bool(index),
    )
