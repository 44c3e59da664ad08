"""The caches of prepared images there are: of what, how large, when last used; and their removal.

A cache that is being read while it is removed stays whole for its reader: the system keeps a mapped file until the last
reader lets go.
"""

import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fairground.catalogue import nearest
from fairground.errors import InputError, StoreError, require
from fairground.images.prepared_cache import USED, cache_root
from fairground.records.lock import held


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """One cache: the folder its images came from (empty where not noted), their number and side, bytes, last use.

    One that is not whole is a build under way, or one that was interrupted and would be taken up.
    """

    key: str
    source: str
    n_images: int
    side: int
    n_bytes: int
    last_used: float
    is_complete: bool


def list_caches() -> list[CacheEntry]:
    """Return every cache of this user, the one longest unused first."""
    root = cache_root()
    folders = [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
    found = [_entry(folder) for folder in folders if folder.suffix in ("", ".part")]
    return sorted((entry for entry in found if entry is not None), key=lambda entry: (entry.last_used, entry.key))


def find_cache(entries: list[CacheEntry], key: str) -> CacheEntry:
    """Return the cache whose key begins so."""
    fitting = [entry for entry in entries if entry.key.startswith(key)]
    keys = [entry.key for entry in entries]
    require(bool(key) and len(fitting) > 0, f"no cache '{key}'.{nearest(key, keys)} `fairground data caches` shows all")
    require(len(fitting) == 1, f"{len(fitting)} caches begin with '{key}': say more of it")
    return fitting[0]


def remove_cache(entry: CacheEntry) -> None:
    """Delete a cache, and what an interrupted build of it left; refused while it is being built."""
    folder = cache_root() / entry.key
    try:
        with held(folder.with_suffix(".lock"), f"the cache {entry.key}"):
            if folder.exists():
                # Out of the way first: a reader that comes meanwhile finds a whole cache or none.
                gone = folder.with_suffix(".gone")
                shutil.rmtree(gone, ignore_errors=True)
                folder.replace(gone)
                shutil.rmtree(gone)
            shutil.rmtree(folder.with_suffix(".part"), ignore_errors=True)
    except StoreError as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise StoreError(f"cannot remove the cache {folder}: {error.strerror or error}") from error


def _entry(folder: Path) -> CacheEntry | None:
    """Return what a folder holds; none where it vanished meanwhile."""
    try:
        files = [path.stat() for path in folder.iterdir()]
        marks = [folder / name for name in (USED, "index.json") if (folder / name).exists()]
        last_used = max((path.stat().st_mtime for path in marks), default=folder.stat().st_mtime)
    except OSError:
        return None
    index: dict[str, object] = {}
    with suppress(OSError, ValueError):
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    n_images, side = index.get("n"), index.get("side")
    return CacheEntry(
        key=folder.stem,
        source=str(index.get("source", "")),
        n_images=n_images if isinstance(n_images, int) else 0,
        side=side if isinstance(side, int) else 0,
        n_bytes=sum(file.st_size for file in files),
        last_used=last_used,
        is_complete=folder.suffix == "" and bool(index),
    )
