"""Ready-made weights from a file into a trunk: found, checked by hash, fitted name by name.

Anything but a safetensors file is a pickle: it is opened only after its SHA-256 has been found right, by a reader that
builds tensors alone, and only once: from then on its tensors come from a safetensors file in the cache.
"""

import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import safetensors.torch
import torch

from fairground.contracts.trunk_head_transform import PublishedWeights, Trunk, require
from fairground.files import cache_folder, read_bytes, require_file, write_atomically
from fairground.spec import InputError, StoreError, find, list_names


def stripped(name: str) -> str:
    """Return a weight's name without the number of its stage: what those who published the weights call it."""
    return re.sub(r"^stages\.\d+\.", "", name)


def load_weights(
    trunk: Trunk,
    weights: str | None,
    sha256: str = "",
    *,
    dropped: tuple[str, ...] = (),
    rename: Callable[[str], str] = stripped,
) -> str:
    """Fill the trunk with `weights` and return their fingerprint; nothing for None, the weights drawn at random.

    `weights` is "imagenet", meaning one of the files the trunk has `published`, or a path. Names beginning with one of
    `dropped` belong to classifiers and are left out; every other name must fit. `rename` turns our name of a weight
    into the published one.
    """
    name = type(trunk).__module__.rpartition(".")[2]
    if weights is None or weights == "none":
        require(not sha256, f"trunk.weights_sha256 was set, but trunk.weights of {name} is none")
        return ""
    path, wanted = _locate(name, weights, sha256, trunk.published)
    data = read_bytes(path)
    found = hashlib.sha256(data).hexdigest()
    refusal = f"trunk.weights: {path} is not the file it should be: its SHA-256 is {found}, not {wanted}"
    require(found.startswith(wanted), refusal + ("" if len(wanted) == 64 else "..."))
    _fit(trunk, _read(path, data, found), f"trunk.weights: {path.name}", dropped, rename)
    return f"sha256:{found}"


def fingerprint_of(network: torch.nn.Module) -> str:
    found = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        found.update(name.encode() + value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return f"sha256:{found.hexdigest()}"


def _locate(name: str, weights: str, sha256: str, published: Sequence[PublishedWeights]) -> tuple[Path, str]:
    """Return the file and what its hash must begin with; nothing is asked of a safetensors file of the user's own."""
    refusal = f"trunk.weights_sha256 must be the 64 hex digits of a SHA-256, in small letters; got '{sha256}'"
    require(re.fullmatch(r"[0-9a-f]{64}|", sha256) is not None, refusal)
    if weights == "imagenet":
        require(len(published) > 0, f"trunk.weights of {name} must be none or the path of a file; got 'imagenet'")
        for entry in published:
            if found := find_published(entry):
                return found, sha256 or entry.sha256
        first = published[0]
        begins = "is" if len(first.sha256) == 64 else "begins with"
        raise InputError(
            f"trunk.weights=imagenet of {name} needs {first.file}, which is not on this machine: get it from "
            f"{first.address} (its SHA-256 {begins} {first.sha256}) and put it into {weights_folder()}, or give its "
            "path as trunk.weights"
        )
    path = Path(weights).expanduser()
    known = {entry.file: entry.sha256 for entry in published}
    words = "none, imagenet or the path of a file" if published else "none or the path of a file"
    require(path.exists(), f"trunk.weights of {name} must be {words}; there is no file {path}")
    require_file(path)
    wanted = sha256 or known.get(path.name, "")
    refusal = f"trunk.weights: {path} is a pickle, which could run code when opened"
    advice = "give trunk.weights_sha256, the SHA-256 its publisher names, or convert it to safetensors"
    require(bool(wanted) or path.suffix == ".safetensors", f"{refusal}; {advice}")
    return path, wanted


def weights_folder() -> Path:
    return Path(torch.hub.get_dir()) / "checkpoints"


def find_published(entry: PublishedWeights) -> Path | None:
    """Return where a published file is on this machine: in the package that carries it, or in the folder of weights."""
    files = (folder / entry.file for folder in (_inside_package(entry.package), weights_folder()) if folder)
    return next((file for file in files if file.is_file()), None)


def _inside_package(place: str) -> Path | None:
    """Return the folder of an installed package without importing it."""
    package, _, inner = place.partition("/")
    spec = find_spec(package) if package else None
    folders = list(spec.submodule_search_locations or []) if spec else []
    return Path(folders[0]) / inner if folders else None


def _read(path: Path, data: bytes, digest: str) -> dict[str, torch.Tensor]:
    cache = cache_folder("weights")
    try:
        if path.suffix == ".safetensors":
            return safetensors.torch.load(data)
        for kept in cache.glob(f"{digest}-*.safetensors"):
            copy = kept.read_bytes()
            if kept.stem.endswith(hashlib.sha256(copy).hexdigest()):
                return safetensors.torch.load(copy)
        state = torch.load(io.BytesIO(data), weights_only=True, map_location=torch.device("cpu"))
    except Exception as error:  # readers raise whatever they stumble upon in a corrupt file
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"trunk.weights: {path} cannot be read as weights: {reason}") from error
    is_plain = isinstance(state, Mapping) and all(isinstance(value, torch.Tensor) for value in state.values())
    require(is_plain, f"trunk.weights: {path} must hold tensors by name and nothing else, as a state dict does")
    copy = safetensors.torch.save({name: tensor.clone().contiguous() for name, tensor in state.items()})
    with suppress(OSError, StoreError):  # without room for it, the pickle is opened again
        write_atomically(cache / f"{digest}-{hashlib.sha256(copy).hexdigest()}.safetensors", copy)
    return dict(state)


def _fit(
    trunk: Trunk, state: Mapping[str, torch.Tensor], name: str, dropped: tuple[str, ...], rename: Callable[[str], str]
) -> None:
    """Copy every weight to its place, or say which do not fit; the trunk is left alone unless all do."""
    if any(key.startswith("trunk.stages.") for key in state):
        # The weights of one of our own runs, trunk and head together.
        state = {key.removeprefix("trunk."): value for key, value in state.items() if key.startswith("trunk.")}
    own = trunk.state_dict()
    is_own = any(key.startswith("stages.") for key in state)
    sources = {key: key if is_own else rename(key) for key in own}
    # Files older than torch 0.4.1 do not count batches, and nothing depends on the count.
    missing = [key for key in sources.values() if key not in state and not key.endswith("num_batches_tracked")]
    unexpected = sorted(key for key in set(state) - set(sources.values()) if not key.startswith(dropped))
    refusal = f"{name} does not fit: it lacks {_few(missing)}; it has {_few(unexpected)} that we have no place for"
    require(not missing and not unexpected, refusal)
    for key, source in sources.items():
        if source in state:
            found, wanted = state[source], tuple(own[key].shape)
            # The published BN-Inception has a leading one too many before its batch-norm weights.
            found = found[0] if found.shape == (1, *wanted) else found
            require(found.shape == wanted, f"{name}: {source} has shape {tuple(found.shape)} where {wanted} is needed")
            own[key] = found
    trunk.load_state_dict(own)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return (", ".join(names[:3]) + more) or "nothing"


class KnownWeights(NamedTuple):
    """One file that `trunk.weights=imagenet` of a trunk may be; `path` is where it is, empty where it is missing."""

    trunk: str
    file: str
    sha256: str
    address: str
    path: str


class WeightsCheck(NamedTuple):
    """What a file turned out to be: its hash, the trunks it fits, and whether it is a published one."""

    path: str
    sha256: str
    trunks: tuple[str, ...]
    published: str
    sentence: str
    is_right: bool


def known_weights() -> list[KnownWeights]:
    return [
        KnownWeights(trunk, entry.file, entry.sha256, entry.address, str(find_published(entry) or ""))
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
    elif path.suffix != ".safetensors":
        vouch = "give the SHA-256 that its publisher names as trunk.weights_sha256, or convert it to safetensors"
        sentence = f"is not a published file, and not opened: a pickle could run code. To use it, {vouch}"
    else:
        trunks = tuple(name for name in dict.fromkeys(entry.trunk for entry in known) if _is_for(name, path))
        fits = f"fits {', '.join(trunks)}: give its path as trunk.weights" if trunks else "fits no trunk"
        sentence = f"is not a published file, and {fits}"
    return WeightsCheck(str(path), found, trunks, published, f"{path.name} {sentence}", bool(trunks))


def _is_for(trunk: str, path: Path) -> bool:
    try:
        find("trunks", trunk)(channels=3, weights=str(path))
    except InputError:
        return False
    return True
