"""The caches there are, of prepared images and of frozen stages: of what, how large, when last used; their removal.

A cache that is being read while it is removed stays whole for its reader: the system keeps a mapped file until the last
reader lets go.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from fairground.errors import InputError, StoreError, require
from fairground.loading.prepared_cache import USED, CacheKind, cache_root
from fairground.records.lock import held
from fairground.spec.catalogue import nearest


@dataclass(frozen=True, kw_only=True)
class CacheEntry:
    """One cache: the folder its images came from (empty where not noted), their number, bytes, last use.

    Prepared images have a `side`; outputs of frozen stages name the `trunk` and how many of its stages are frozen. One
    that is not whole is a build under way, or one that was interrupted and would be taken up.
    """

    kind: CacheKind
    key: str
    source: str
    n_images: int
    side: int
    trunk: str
    n_frozen: int
    n_bytes: int
    last_used: float
    is_complete: bool


def list_caches() -> list[CacheEntry]:
    """Return every cache of this user, the one longest unused first."""
    found: list[CacheEntry | None] = []
    for kind in get_args(CacheKind):
        root = cache_root(kind)
        folders = [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
        found += [_entry(kind, folder) for folder in folders if folder.suffix in ("", ".part")]
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
    folder = cache_root(entry.kind) / entry.key
    try:
        with held(folder.with_suffix(".lock"), f"the cache {entry.key}"):
            for chunk in folder.glob("locks/*.lock"):
                with held(chunk, f"the cache {entry.key}"):
                    pass
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


def _entry(kind: CacheKind, folder: Path) -> CacheEntry | None:
    """Return what a folder holds; none where it vanished meanwhile."""
    try:
        # Blocks on disk rather than lengths: the files of frozen stages have holes until they are filled.
        files = [path.stat() for path in folder.iterdir() if path.is_file()]
        marks = [folder / name for name in (USED, "index.json") if (folder / name).exists()]
        last_used = max((path.stat().st_mtime for path in marks), default=folder.stat().st_mtime)
    except OSError:
        return None
    index: dict[str, object] = {}
    with suppress(OSError, ValueError):
        index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    counts = {name: index.get(name) for name in ("n", "side", "n_frozen")}
    known = {name: count if isinstance(count, int) else 0 for name, count in counts.items()}
    return CacheEntry(
        kind=kind,
        key=folder.stem,
        source=str(index.get("source", "")),
        n_images=known["n"],
        side=known["side"],
        trunk=str(index.get("trunk", "")),
        n_frozen=known["n_frozen"],
        n_bytes=sum(_on_disk(file) for file in files),
        last_used=last_used,
        is_complete=folder.suffix == "" and bool(index),
    )


def _on_disk(file: os.stat_result) -> int:
    blocks: int = getattr(file, "st_blocks", -1)
    return file.st_size if blocks < 0 else min(file.st_size, 512 * blocks)
