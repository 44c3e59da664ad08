"""The folder of one run: which files it has, how far a run is, and which process works on it."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from fairground.files import held, is_at_work, read_json, read_with_digest, writing
from fairground.records import EpochRow, FairgroundError, StoreError, require
from fairground.spec import COMMAND_LINE, Overrides, RunSpec, hash_of, run_from_plain


class _File:
    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: "RunFolder", _: type) -> Path:
        return folder.path / self._name


@dataclass(frozen=True)
class RunFolder:
    """The folder `<root>/runs/<name>` of one run and the paths of its files. Only `make` creates anything."""

    root: Path
    name: str

    #: what was asked
    spec = _File("spec.json")
    #: the current record, with its digest; the history has those it superseded, or that disagree with it
    record, history = _File("record.json"), _File("history")
    #: what resume needs: 00000600.safetensors the tensors at step 600, 00000600.json everything else, written last,
    #: with a digest that covers all of it; best-000003.safetensors the selected weights
    checkpoints = _File("checkpoints")
    #: what the network takes
    inputs = _File("inputs.json")
    #: queries and their nearest neighbours, as images
    gallery = _File("gallery.npz")
    #: embeddings and labels of an evaluated split; scores per query and per class
    embeddings, queries = _File("embeddings.npz"), _File("queries.npz")
    #: curves of the training split: spectra, densities of distances
    analyses = _File("analyses.npz")
    #: scores before and after the head saw a few images of the test classes, by their number
    few_shot = _File("few_shot.json")

    @cached_property
    def path(self) -> Path:
        return Path(self.root) / "runs" / self.name

    def make(self) -> "RunFolder":
        with writing(self.checkpoints):
            self.checkpoints.mkdir(parents=True, exist_ok=True)
        return self


def folder_names(root: Path) -> frozenset[str]:
    try:
        with os.scandir(root / "runs") as found:
            return frozenset(entry.name for entry in found if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()


@contextmanager
def locked(folder: RunFolder, *, role: Literal["owner", "driver"] = "owner", patience: float = 0.2) -> Iterator[None]:
    """Hold the run; refuse if another process holds it after `patience` seconds.

    The `owner` trains the run; the `driver` starts workers that do. A worker whose driver was killed needs a moment to
    notice, and `is_at_work` may hold the lock for an instant.
    """
    folder.make()
    with held(folder.path / f"{role}.lock", f"run {folder.name}", patience=patience):
        yield


def stored_spec(folder: RunFolder, overrides: Overrides | None = None, *, origin: str = COMMAND_LINE) -> RunSpec:
    """Return the spec of a run that was begun, with `overrides`; refuse a file that is not the spec of this run."""
    plain = read_json(folder.spec, error=StoreError)
    # The hash of the file as it is: a later version may add defaults, which would change the hash of the spec.
    is_own = hash_of(plain) == folder.name
    require(is_own, f"{folder.spec} is damaged: it is not the spec of run {folder.name}", StoreError)
    try:
        return run_from_plain(plain, overrides, origin=origin)
    except FairgroundError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{folder.spec} cannot be read as a spec: {error}") from error


def checkpoints_newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.json"), reverse=True)


def newest_checkpoint(folder: RunFolder) -> dict[str, Any]:
    """Return what the newest readable checkpoint has besides tensors; nothing where there is none."""
    for path in checkpoints_newest_first(folder.checkpoints):
        with suppress(StoreError):  # it may be replaced just now
            return read_with_digest(path)
    return {}


@dataclass(frozen=True, kw_only=True)
class RunInProgress:
    """`epoch` is the one in training, 0 while the untrained model is evaluated; `seconds` is the time spent so far."""

    name: str
    spec: Mapping[str, Any]
    epoch: int
    rows: tuple[EpochRow, ...]
    started: str
    seconds: float
    is_at_work: bool


def run_in_progress(folder: RunFolder) -> RunInProgress | None:
    """Return how far the run in this folder is, by its newest checkpoint; None if there is none or it is unreadable."""
    try:
        spec = read_json(folder.spec, error=StoreError)
        state = newest_checkpoint(folder)
        return RunInProgress(
            name=folder.name,
            spec=spec,
            epoch=int(state.get("epoch", 0)),
            rows=tuple(EpochRow(**row) for row in state.get("rows", ())),
            started=str(state.get("started", "")),
            seconds=float(state.get("seconds", 0.0)),
            is_at_work=is_at_work(folder.path / "owner.lock"),
        )
    except (StoreError, ValueError, TypeError):
        return None
