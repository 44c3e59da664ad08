"""Which ready-made weights each trunk can load, whether they are here, and whether a file is what it should be."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fairground.contracts.model import Trunk
from fairground.contracts.weights import PublishedWeights
from fairground.errors import InputError
from fairground.files import read_bytes
from fairground.spec.catalogue import find, list_names
from fairground.trunks._weights import find_published, weights_folder


@dataclass(frozen=True, kw_only=True)
class KnownWeights:
    """One file that `trunk.weights=imagenet` of a trunk may be; `path` is where it is, empty where it is missing."""

    trunk: str
    file: str
    sha256: str
    address: str
    path: str


@dataclass(frozen=True, kw_only=True)
class WeightsCheck:
    """What a file turned out to be: its hash, the trunks it fits, and whether it is a published one."""

    path: str
    sha256: str
    trunks: tuple[str, ...]
    published: str
    sentence: str
    is_right: bool


def known_weights() -> list[KnownWeights]:
    """Return the published weights of every trunk, and where they are on this machine."""
    return [
        KnownWeights(
            trunk=trunk,
            file=entry.file,
            sha256=entry.sha256,
            address=entry.address,
            path=str(find_published(entry) or ""),
        )
        for trunk, entry in _published()
    ]


def check_weights(path: Path) -> WeightsCheck:
    """Say what a file of weights is; a file with a published name and another hash is refused as not right."""
    found = hashlib.sha256(read_bytes(path)).hexdigest()
    by_hash = [(trunk, entry) for trunk, entry in _published() if found.startswith(entry.sha256)]
    by_name = [(trunk, entry) for trunk, entry in _published() if entry.file == path.name]
    if by_hash:
        trunks = tuple(dict.fromkeys(trunk for trunk, _ in by_hash))
        name = by_hash[0][1].file
        where = f"put it into {weights_folder()} as {name}, or give its path as trunk.weights"
        return _result(path, found, trunks, name, f"is {name}, the weights of {', '.join(trunks)}: {where}", True)
    if by_name:
        entry = by_name[0][1]
        sentence = f"is not the {entry.file} it is named after: its SHA-256 is {found}, not {entry.sha256}"
        return _result(path, found, (), "", f"{sentence}; get it again from {entry.address}", False)
    fitting = tuple(_fitting(path, found))
    sentence = (
        f"is not a published file, and fits {', '.join(fitting)}: give its path as trunk.weights"
        if fitting
        else "is not a published file, and fits no trunk"
    )
    return _result(path, found, fitting, "", sentence, bool(fitting))


def _published() -> Iterator[tuple[str, PublishedWeights]]:
    for name in list_names("trunks"):
        kind: type[Trunk] = find("trunks", name)
        yield from ((name, entry) for entry in kind.published)


def _fitting(path: Path, sha256: str) -> Iterator[str]:
    """Yield the trunks that a file fits, by the names of its tensors."""
    for name in dict.fromkeys(trunk for trunk, _ in _published()):
        try:
            find("trunks", name)(channels=3, weights=str(path), weights_sha256=sha256)
        except InputError:
            continue
        yield name


def _result(
    path: Path, sha256: str, trunks: tuple[str, ...], published: str, sentence: str, is_right: bool
) -> WeightsCheck:
    return WeightsCheck(
        path=str(path),
        sha256=sha256,
        trunks=trunks,
        published=published,
        sentence=f"{path.name} {sentence}",
        is_right=is_right,
    )
