"""Rows of an index that were added at one time, in a folder of their own; it never changes once it is written.

<folder>/
    embeddings.npy    the rows (n, d), mapped when searched
    codes.npy         their 8-bit codes, bounds.npy what the codes leave open (`retrieval/row_codes.py`)
    ids.npy           the identifier of each row, rising
    names.bin         the file each row comes from, with names.npy to find them
    labels.npy        the class of each row, a number in segment.json; not there for rows without classes
    segment.json      names of classes, and of pictures left out because they cannot be read
    thumbnails.bin    small pictures, with thumbnails.npy to find them; not there for features
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairground.deploy.byte_rows import ByteRows, save_array, write_byte_rows
from fairground.deploy.manifest import SegmentEntry
from fairground.deploy.thumbnails import FILES as THUMBNAILS
from fairground.errors import DataError, require
from fairground.files import checksum, read_json, write_atomically
from fairground.records.arrays import map_npy
from fairground.retrieval.row_codes import RowCodes, encode_rows

EMBEDDINGS = "embeddings.npy"
_CODES, _BOUNDS, _IDS, _LABELS, _TEXTS = "codes.npy", "bounds.npy", "ids.npy", "labels.npy", "segment.json"
_NAMES = "names"


@dataclass(frozen=True)
class Segment:
    """A segment opened: everything is mapped, nothing is loaded. `labels` number its own `class_names`."""

    folder: Path
    embeddings: np.ndarray
    codes: RowCodes
    ids: np.ndarray
    #: the file of each row, in UTF-8
    names: ByteRows
    labels: np.ndarray | None
    class_names: tuple[str, ...]
    left_out: tuple[str, ...]
    #: small pictures, None for features
    thumbnails: ByteRows | None

    def __len__(self) -> int:
        return len(self.ids)


def open_segment(folder: Path, entry: SegmentEntry, width: int) -> Segment:
    """Return a segment, refusing in a sentence one whose files are not those of `entry.n` rows of `width`.

    What rows are called is held against its SHA-256, because nobody could tell a wrong name from a right one.
    """
    embeddings, codes, bounds = (map_npy(folder / name) for name in (EMBEDDINGS, _CODES, _BOUNDS))
    ids = map_npy(folder / _IDS)
    labels = map_npy(folder / _LABELS) if _LABELS in entry.files else None
    texts = read_json(folder / _TEXTS, error=DataError)
    class_names, left_out = _texts(texts, "class_names"), _texts(texts, "left_out")
    expected: list[tuple[np.ndarray, tuple[int, ...], type[np.generic]]] = [
        (embeddings, (entry.n, width), np.float32),
        (codes, (entry.n, width), np.int8),
        (bounds, (3, entry.n), np.float32),
        (ids, (entry.n,), np.int64),
    ]
    expected += [] if labels is None else [(labels, (entry.n,), np.int32)]
    is_sound = all(_is_such(array, shape, kind) for array, shape, kind in expected)
    is_sound = is_sound and bool((np.diff(ids) > 0).all()) and (entry.n == 0 or int(ids[0]) >= 0)
    if is_sound and labels is not None and entry.n > 0:
        is_sound = 0 <= int(labels.min()) <= int(labels.max()) < len(class_names)
    names = ByteRows(folder, _NAMES, sha256=entry.files.get(f"{_NAMES}.bin"))
    pictures = ByteRows(folder, THUMBNAILS) if f"{THUMBNAILS}.npy" in entry.files else None
    is_sound = is_sound and len(names) == entry.n and (pictures is None or len(pictures) == entry.n)
    require(is_sound, f"the segment {folder} is damaged: its files do not agree", DataError)
    told = {name: digest for name, digest in entry.files.items() if name in (_LABELS, _TEXTS, f"{_NAMES}.npy")}
    damage = damaged_files(folder, told)
    require(not damage, f"{''.join(damage[:1])} is damaged: it is not as it was written", DataError)
    return Segment(
        folder,
        embeddings,
        RowCodes(codes, bounds),
        ids,
        names,
        labels,
        class_names,
        left_out,
        pictures,
    )


def _texts(held: dict[str, Any], key: str) -> tuple[str, ...]:
    found = held.get(key)
    require(isinstance(found, list), f"{_TEXTS} of a segment is damaged: {key} must be a list", DataError)
    return tuple(str(text) for text in found or ())


def _is_such(array: np.ndarray, shape: tuple[int, ...], kind: type[np.generic]) -> bool:
    return array.shape == shape and array.dtype == np.dtype(kind) and bool(array.flags.c_contiguous)


@dataclass(frozen=True, kw_only=True)
class SegmentTexts:
    """What is known of rows next to their embeddings; `labels` (n,) number `class_names`."""

    names: Sequence[str]
    labels: np.ndarray | None = None
    class_names: Sequence[str] = ()
    left_out: Sequence[str] = ()


def finish_segment(folder: Path, ids: np.ndarray, texts: SegmentTexts) -> SegmentEntry:
    """Write all that belongs to the embeddings which lie in the folder already, and return its entry."""
    embeddings = map_npy(folder / EMBEDDINGS)
    n, width = embeddings.shape
    codes = np.lib.format.open_memmap(folder / _CODES, mode="w+", dtype=np.int8, shape=(n, width))
    bounds = np.empty((3, n), np.float32)
    encode_rows(embeddings, RowCodes(codes, bounds))
    codes.flush()
    save_array(folder / _BOUNDS, bounds)
    save_array(folder / _IDS, ids.astype(np.int64))
    write_byte_rows(folder, _NAMES, (name.encode() for name in texts.names))
    (folder / _LABELS).unlink(missing_ok=True)
    if texts.labels is not None:
        save_array(folder / _LABELS, np.asarray(texts.labels).astype(np.int32))
    said = {"class_names": list(texts.class_names), "left_out": list(texts.left_out)}
    write_atomically(folder / _TEXTS, json.dumps(said, ensure_ascii=False).encode())
    return SegmentEntry(name=folder.name, n=n, files=_digests(folder))


def _digests(folder: Path) -> dict[str, str]:
    names = [EMBEDDINGS, _CODES, _BOUNDS, _IDS, _LABELS, _TEXTS]
    names += [f"{stem}.{ending}" for stem in (_NAMES, THUMBNAILS) for ending in ("bin", "npy")]
    for name in (EMBEDDINGS, _CODES):
        with (folder / name).open("r+b") as file:
            os.fsync(file.fileno())
    return {name: checksum(folder / name) for name in names if (folder / name).is_file()}


def damaged_files(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Return the files of a folder that are missing or no longer have their SHA-256."""
    return [
        str(folder / name)
        for name, wanted in files.items()
        if not (folder / name).is_file() or checksum(folder / name) != wanted
    ]
