"""Everything that makes resume exact, on disk: tensors in safetensors, the rest in JSON, each file written atomically.

A checkpoint is two files, `00000600.safetensors` and then `00000600.json`, which holds the checksum of the first: the
JSON is the commit. The two newest are kept, so that a damaged one costs a little time and no run. The best weights so
far are a file of their own, written when they change, named and check-summed by every checkpoint that counts on them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from fairground.errors import StoreError, require
from fairground.records.artefacts import write_atomically

KEPT = 2


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of a run: all tensors by name, and the plain facts around them."""

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]


@dataclass
class Checkpoints:
    """The checkpoints of one run. `notes` tells which damaged files were passed over when loading."""

    folder: Path
    notes: list[str] = field(default_factory=list)

    def save(self, step: int, snapshot: Snapshot) -> None:
        """Write a checkpoint, then drop what is older than the newest two."""
        path = self.folder / f"{step:08d}.safetensors"
        digest = _write_tensors(path, snapshot.tensors)
        facts = {**snapshot.facts, "tensors": path.name, "sha256": digest}
        write_atomically(path.with_suffix(".json"), json.dumps(facts, allow_nan=False).encode())
        self._drop_old()

    def save_best(self, epoch: int, tensors: Mapping[str, Tensor]) -> dict[str, str]:
        """Write the best weights so far; return what a checkpoint must remember of them."""
        path = self.folder / f"best-{epoch:06d}.safetensors"
        return {"file": path.name, "sha256": _write_tensors(path, tensors)}

    def load(self) -> Snapshot | None:
        """Return the newest checkpoint that is whole, or None when there is none."""
        paths = sorted(self.folder.glob("[0-9]*.json"), reverse=True)
        for path in paths:
            try:
                return self._read(path)
            except StoreError as error:
                self.notes.append(f"checkpoint {path.stem} is damaged ({error}); fell back to the one before")
        require(
            not paths,
            f"all {len(paths)} checkpoints in {self.folder} are damaged; delete the run to start anew",
            StoreError,
        )
        return None

    def load_best(self, best: Mapping[str, str]) -> dict[str, Tensor]:
        """Return the best weights a checkpoint remembered."""
        return _read_tensors(self.folder / best["file"], best["sha256"])

    def _read(self, path: Path) -> Snapshot:
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
            name, digest = facts["tensors"], facts["sha256"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError("its JSON cannot be read") from error
        require(name == f"{path.stem}.safetensors", "it names another file", StoreError)
        if facts.get("best"):
            _check(self.folder / facts["best"]["file"], facts["best"]["sha256"])
        return Snapshot(tensors=_read_tensors(self.folder / name, digest), facts=facts)

    def _drop_old(self) -> None:
        paths = sorted(self.folder.glob("[0-9]*.json"), reverse=True)
        needed = set()
        for path in paths[:KEPT]:
            try:
                best = json.loads(path.read_text(encoding="utf-8")).get("best")
            except ValueError:
                continue
            needed.add(best["file"] if best else "")
        for path in paths[KEPT:]:
            path.unlink(missing_ok=True)
        kept = {path.stem for path in paths[:KEPT]}
        for path in self.folder.glob("*.safetensors"):
            if path.stem not in kept and path.name not in needed:
                path.unlink(missing_ok=True)


def to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors as safetensors, from whatever device they are on."""
    data: bytes = safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})
    return data


def from_bytes(data: bytes) -> dict[str, Tensor]:
    """Return what `to_bytes` was given."""
    return safetensors.torch.load(data)


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    data = to_bytes(tensors)
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def _check(path: Path, digest: str) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path.name} cannot be read") from error
    require(hashlib.sha256(data).hexdigest() == digest, f"{path.name} does not match its checksum", StoreError)
    return data


def _read_tensors(path: Path, digest: str) -> dict[str, Tensor]:
    return from_bytes(_check(path, digest))
