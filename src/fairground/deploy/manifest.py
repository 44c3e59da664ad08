"""What an index consists of now: its segments and the rows removed, in `index.json`, which is replaced in one step.

A segment that the manifest does not name does not exist: rows are written first, the manifest last, so that a kill at
any moment leaves the index as it was or as it should be.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairground.errors import DataError, require
from fairground.files import read_json, write_atomically

MARK = "index.json"
FORMAT = "fairground index"
VERSION = 2
SEGMENTS = "segments"


@dataclass(frozen=True, kw_only=True)
class SegmentEntry:
    """A segment of `n` rows: the name of its folder, and the SHA-256 of each of its files."""

    name: str
    n: int
    files: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Tombstones:
    """A file that lists the identifiers of `n` removed rows, with its SHA-256."""

    file: str
    n: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """`width` is that of the embeddings; raw ones are compared by Euclidean distance, others by cosine.

    `next_id` and `next_segment` have never been used. `approximate_recall_at_10` is that of the approximate search
    made for exactly these rows, None where there is none.
    """

    width: int
    is_raw: bool
    next_id: int = 0
    next_segment: int = 1
    #: the SHA-256 of each file of the model
    model: Mapping[str, str] = field(default_factory=dict)
    segments: tuple[SegmentEntry, ...] = ()
    removed: Tombstones | None = None
    approximate_recall_at_10: float | None = None

    @property
    def n(self) -> int:
        """How many rows there are, without those removed."""
        return sum(entry.n for entry in self.segments) - (0 if self.removed is None else self.removed.n)

    @property
    def segment_name(self) -> str:
        """The name of the next segment."""
        return f"{self.next_segment:06d}"

    def write(self, folder: Path) -> None:
        """Replace the manifest of an index in one step."""
        content = {"format": FORMAT, "version": VERSION, "n": self.n, **asdict(self)}
        write_atomically(folder / MARK, json.dumps(content, ensure_ascii=False, indent=1).encode())


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an index, refusing in a sentence what is none."""
    path = folder / MARK
    try:
        held = read_json(path, error=DataError)
    except DataError as error:
        raise DataError(f"{path} cannot be read: {error}; is this folder an index, and was it finished?") from error
    require(held.get("format") == FORMAT, f"{path} is not that of a fairground index", DataError)
    is_ours = held.get("version") == VERSION
    require(is_ours, f"{folder} was written by another version of fairground; make it anew", DataError)
    try:
        found = _manifest(held)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise DataError(f"the index in {folder} is damaged: {path.name} is not complete ({error})") from error
    require(held.get("n") == found.n, f"the index in {folder} is damaged: its files do not agree", DataError)
    return found


def _manifest(held: Mapping[str, Any]) -> Manifest:
    removed = held["removed"]
    recall = held["approximate_recall_at_10"]
    require(isinstance(held["is_raw"], bool), "is_raw must be true or false")
    segments = tuple(
        SegmentEntry(
            name=_plain_name(entry["name"]),
            n=_count(entry["n"]),
            files=_digests(entry["files"]),
        )
        for entry in held["segments"]
    )
    tombstones = None
    if removed is not None:
        tombstones = Tombstones(
            file=_plain_name(removed["file"]), n=_count(removed["n"]), sha256=str(removed["sha256"])
        )
    return Manifest(
        width=_count(held["width"]),
        is_raw=held["is_raw"],
        next_id=_count(held["next_id"]),
        next_segment=_count(held["next_segment"]),
        model=_digests(held.get("model", {})),
        segments=segments,
        removed=tombstones,
        approximate_recall_at_10=None if recall is None else float(recall),
    )


def _digests(held: Mapping[str, object]) -> dict[str, str]:
    return {_plain_name(name): str(digest) for name, digest in held.items()}


def _count(value: object) -> int:
    require(type(value) is int and 0 <= value < 2**62, f"{str(value)[:40]!r} is no count")
    assert isinstance(value, int)
    return value


def _plain_name(name: object) -> str:
    """A name comes from a file: it must not be able to point anywhere else."""
    is_plain = isinstance(name, str) and re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,63}", name) is not None
    require(is_plain, f"{str(name)[:80]!r} is no name of a file in an index")
    return str(name)
