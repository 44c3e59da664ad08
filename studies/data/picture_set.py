"""What a study knows of a set of pictures: where it comes from, what it must hold, what the weights have seen of it."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

#: what the weights of the trunk were trained on
PRETRAINING = "ImageNet-1k (ILSVRC 2012)"


class Half(NamedTuple):
    """How many classes and pictures one half of a set has."""

    classes: int
    images: int


class Shared(NamedTuple):
    """A class, or words in the names of classes, and the ImageNet category of the same meaning."""

    own: str
    imagenet: str


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """What a set shares with ImageNet-1k, on which the weights of the trunk were trained.

    `level` is the strongest overlap that is known: `images` are in both, `classes` are (with other pictures), or only
    wider `categories` are. `n_images` is how many common pictures somebody has counted, as `source` says; None where
    nobody has. `shared` lists common classes or, for the level `categories`, words in their names.
    """

    level: Literal["images", "classes", "categories"]
    n_images: int | None
    shared: tuple[Shared, ...]
    source: str


@dataclass(frozen=True, kw_only=True)
class PictureSet:
    """A set as the studies use it: halves by class, and one SHA-256 over everything laid out.

    `use` is what to write on the command line of fairground, `{root}` being the folder laid out.
    """

    name: str
    title: str
    repository: str
    commit: str
    licence: str
    train: Half
    test: Half
    sha256: str
    use: str
    overlap: Overlap


class Picture(NamedTuple):
    """One file: `source` in the copy of the repository, `path` in the folder laid out.

    Pictures of one `group` are never compared with each other; it is empty where there are no groups.
    """

    source: str
    path: str
    label: str
    split: Literal["train", "test"]
    group: str = ""


def digest(text: str) -> str:
    """Return the SHA-256 of a name: an order that nobody has chosen."""
    return hashlib.sha256(text.encode()).hexdigest()


def half_by_kind(kinds: Mapping[str, str]) -> set[str]:
    """Return the classes that train, of classes with their kinds: kind by kind, in order of hash, until half of all."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for label, kind in kinds.items():
        by_kind[kind].append(label)
    learnt: set[str] = set()
    for kind in sorted(by_kind, key=digest):
        if len(learnt) >= len(kinds) // 2:
            break
        learnt.update(by_kind[kind])
    return learnt


def content_hash(entries: Iterable[tuple[str, str]]) -> str:
    """Return one SHA-256 of (path, SHA-256 of the file) pairs, whatever their order.

    It is what `find images table.csv -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum` prints.
    """
    lines = [f"{file_hash}  {path}\n" for path, file_hash in sorted(entries, key=lambda entry: entry[0].encode())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def files_below(folder: Path, parts: Sequence[str], *, suffix: str = ".jpg") -> list[Path]:
    """Return the files `part/class/name` of some parts, relative to the folder, in order of path."""
    found = [path for part in parts for path in (folder / part).glob(f"*/*{suffix}")]
    return sorted(path.relative_to(folder) for path in found)
