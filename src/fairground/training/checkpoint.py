"""Everything that makes resume exact, on disk: tensors in safetensors, the rest in sealed JSON, written atomically."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from fairground.files import read_bytes, read_with_digest, write_atomically, write_with_digest
from fairground.records import StoreError, checkpoints_newest_first, require

#: so that a damaged checkpoint costs a little time and not the run
KEPT = 2


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One moment of a run: all tensors by name, and the plain values around them."""

    tensors: Mapping[str, Tensor]
    values: Mapping[str, Any]


@dataclass
class Checkpoints:
    """The checkpoints of one run; `notes` lists damaged ones that `load` skipped, and those of another run."""

    folder: Path
    run: str = ""
    notes: list[str] = field(default_factory=list)

    def save(self, step: int, snapshot: Snapshot) -> None:
        """Write a checkpoint, then drop all but this one and the one before."""
        path = self.folder / f"{step:08d}.safetensors"
        digest = _write_tensors(path, snapshot.tensors)
        committed = path.with_suffix(".json")
        write_with_digest(committed, {**snapshot.values, "run": self.run, "tensors": path.name, "sha256": digest})
        # A later step can only be that of a damaged checkpoint, which `load` skipped.
        kept = [path for path in checkpoints_newest_first(self.folder) if path <= committed][:KEPT]
        needed = {*kept, *(path.with_suffix(".safetensors") for path in kept)}
        for path in kept:
            with suppress(StoreError):  # damaged since it was written; `load` will say so
                needed |= {self.folder / best["file"] for best in [read_with_digest(path)["best"]] if best}
        for path in (*checkpoints_newest_first(self.folder), *self.folder.glob("*.safetensors")):
            if path not in needed:
                path.unlink(missing_ok=True)

    def save_best(self, epoch: int, tensors: Mapping[str, Tensor]) -> dict[str, str]:
        """Write the best weights so far; return what a checkpoint must remember of them."""
        path = self.folder / f"best-{epoch:06d}.safetensors"
        return {"file": path.name, "sha256": _write_tensors(path, tensors)}

    def load(self) -> Snapshot | None:
        """Return the newest checkpoint that is undamaged, or None when there is none."""
        paths = checkpoints_newest_first(self.folder)
        for path in paths:
            try:
                return self._read(path)
            except StoreError as error:
                self.notes.append(f"checkpoint {path.stem} is damaged ({error}); fell back to the one before")
        refusal = f"all {len(paths)} checkpoints in {self.folder} are damaged; delete the run to start again"
        require(not paths, refusal, StoreError)
        return None

    def load_best(self, best: Mapping[str, str]) -> dict[str, Tensor]:
        return from_bytes(_checked(self.folder / best["file"], best["sha256"]))

    def _read(self, path: Path) -> Snapshot:
        state = read_with_digest(path)
        require(state.get("run") == self.run, f"it belongs to run {state.get('run')}", StoreError)
        tensors = from_bytes(_checked(path.with_suffix(".safetensors"), state["sha256"]))
        if best := state["best"]:
            _checked(self.folder / best["file"], best["sha256"])
        return Snapshot(tensors=tensors, values=state)


def to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """Return tensors as safetensors, from whatever device they are on."""
    return safetensors.torch.save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def from_bytes(data: bytes) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise StoreError(f"these bytes are not safetensors: {error}") from error


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    data = to_bytes(tensors)
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def _checked(path: Path, digest: str) -> bytes:
    data = read_bytes(path, error=StoreError)
    require(hashlib.sha256(data).hexdigest() == digest, f"{path.name} does not match its checksum", StoreError)
    return data
