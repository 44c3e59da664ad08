"""Which ready-made weights each trunk can load, whether they are here, and whether a file is what it should be."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

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
    return [
        KnownWeights(
            trunk=trunk,
            file=entry.file,
            sha256=entry.sha256,
            address=entry.address,
            path=str(find_published(entry) or ""),
        )
        for trunk in list_names("trunks")
        for entry in find("trunks", trunk).published
    ]


def check_weights(path: Path) -> WeightsCheck:
    """Say what a file of weights is; a file with a published name and another hash is refused as not right."""
    found, known = hashlib.sha256(read_bytes(path)).hexdigest(), known_weights()
    by_hash = [entry for entry in known if found.startswith(entry.sha256)]
    by_name = [entry for entry in known if entry.file == path.name]
    published, trunks = "", tuple(dict.fromkeys(entry.trunk for entry in by_hash))
    if by_hash:
        published = by_hash[0].file
        where = f"put it into {weights_folder()} as {published}, or give its path as trunk.weights"
        sentence = f"is {published}, the weights of {', '.join(trunks)}: {where}"
    elif by_name:
        wrong = f"is not the {path.name} it is named after: its SHA-256 is {found}, not {by_name[0].sha256}"
        sentence = f"{wrong}; get it again from {by_name[0].address}"
    else:
        trunks = tuple(name for name in dict.fromkeys(entry.trunk for entry in known) if _fits(name, path, found))
        fits = f"fits {', '.join(trunks)}: give its path as trunk.weights" if trunks else "fits no trunk"
        sentence = f"is not a published file, and {fits}"
    return WeightsCheck(
        path=str(path),
        sha256=found,
        trunks=trunks,
        published=published,
        sentence=f"{path.name} {sentence}",
        is_right=bool(trunks),
    )


def _fits(trunk: str, path: Path, sha256: str) -> bool:
    try:
        find("trunks", trunk)(channels=3, weights=str(path), weights_sha256=sha256)
    except InputError:
        return False
    return True
