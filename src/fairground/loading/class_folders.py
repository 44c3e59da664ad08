"""Images in class folders: which files there are and what they are called; archives are refused."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fairground.errors import DataError, require

_ENDINGS = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar", ".tgz", ".zip", ".7z", ".rar")
#: what image files are called at the end
SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm"})
_NOT_CLASSES = frozenset({"__MACOSX"})


def refuse_archive(path: Path) -> None:
    ending = next((one for one in _ENDINGS if path.name.lower().endswith(one)), "")
    folder = path.with_name(path.name[: -len(ending)]) if ending else path
    refusal = f"'{path}' is an archive: unpack it and name the folder, like {folder}"
    require(not (ending and path.is_file()), refusal, DataError)


class ClassFolders(NamedTuple):
    """`paths` (n) relative to the folder scanned, `labels` (n,) into `names`; `notes` say what was left out."""

    paths: tuple[str, ...]
    labels: np.ndarray
    names: tuple[str, ...]
    notes: tuple[str, ...]


def sub_folders(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, hidden ones left out, in order of name."""
    return [name for name, is_folder in _entries(folder) if is_folder]


def scan_classes(folder: Path) -> ClassFolders:
    """Return the images below each sub-folder, which is a class; folders in a class folder belong to the class."""
    seen = {os.path.realpath(folder): "."}
    found = {name: list(files_below(folder / name, f"{name}/", seen)) for name in sub_folders(folder)}
    images = {name: [path for path in files if is_image_name(path)] for name, files in found.items()}
    names, empty = [name for name in images if images[name]], [name for name in images if not images[name]]
    paths = [path for name in names for path in images[name]]
    labels = [label for label, name in enumerate(names) for _ in images[name]]
    others = [path for files in found.values() for path in files if not is_image_name(path)]
    others += [name for name, is_folder in _entries(folder) if not is_folder]
    notes = (*_left_out(others, "not an image by name, or not in a class folder"),)
    notes = (*notes, *_left_out(empty, "no image in it"), *_too_deep(paths))
    return ClassFolders(tuple(paths), np.array(labels, dtype=np.int64), tuple(names), notes)


def is_image_name(path: str) -> bool:
    return os.path.splitext(path)[1].lower() in SUFFIXES  # noqa: PTH122 (thousands of plain strings)


def files_below(folder: Path, prefix: str = "", seen: dict[str, str] | None = None) -> Iterator[str]:
    """Yield the files below a folder in order of name; a link to a folder that is read anyway, or holds it, is refused.

    `seen` are the folders read so far, by their real paths; the first of them holds all others.
    """
    seen, real = {} if seen is None else seen, os.path.realpath(folder)
    is_above = bool(seen) and Path(next(iter(seen))).is_relative_to(real)
    where = "a folder that this one is in" if is_above else f"'{seen.get(real, '')}', which is read anyway"
    complaint = f"'{folder}' leads to {where}, so that its images would count twice: remove the link"
    require(not (is_above or real in seen), complaint, DataError)
    seen[real] = prefix.rstrip("/") or "."
    for name, is_folder in _entries(folder):
        if is_folder:
            yield from files_below(folder / name, f"{prefix}{name}/", seen)
        else:
            # A broken link counts as a file, and so does one to itself: named as missing instead of vanishing.
            yield f"{prefix}{name}"


def _entries(folder: Path) -> list[tuple[str, bool]]:
    """Return the name of every entry that is not hidden, in order, and whether it is a folder."""
    try:
        with os.scandir(folder) as found:
            seen = (entry for entry in found if not (entry.name.startswith(".") or entry.name in _NOT_CLASSES))
            # Of a link the path is asked: where it leads to itself, that says no.
            entries = sorted((one.name, Path(one).is_dir() if one.is_symlink() else one.is_dir()) for one in seen)
    except OSError as error:
        raise DataError(f"cannot look into the folder {folder}: {error.strerror}") from error
    for name, _ in entries:
        # A name that is not text cannot be listed, hashed or shown.
        is_text = name.encode(errors="replace").decode() == name
        require(is_text, f"a file below {folder} has a name that is not UTF-8: {os.fsencode(name)!r}", DataError)
    return entries


def _too_deep(paths: list[str]) -> tuple[str, ...]:
    """Say what counts as a class where no image is directly in a class folder: perhaps the parent folder was given."""
    if not paths or any(path.count("/") == 1 for path in paths):
        return ()
    first, second = paths[0].split("/")[:2]
    return (f"data: every image is in a folder within a class folder; '{first}/{second}' counts as class '{first}'",)


def _left_out(names: list[str], why: str) -> tuple[str, ...]:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return (f"data: left out '{names[0]}'{more}: {why}",) if names else ()
