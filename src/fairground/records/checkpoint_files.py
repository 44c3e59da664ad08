"""The files of a run's checkpoints: which there are, and the sealed JSON that vouches for the others.

    00000600.safetensors     the tensors at step 600
    00000600.json            all else, with the checksums of the tensors and of the best weights, under one digest
    best-000003.safetensors  the selected weights so far

The JSON is written last: it is the commit. Its digest covers every other byte of the checkpoint.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairground.errors import StoreError, require
from fairground.files import read_json
from fairground.records.sealed_json import read_sealed, write_sealed


def newest_first(folder: Path) -> list[Path]:
    """Return the JSON files of all checkpoints in a folder, readable or not."""
    return sorted(folder.glob("[0-9]*.json"), reverse=True)


def write_state(path: Path, state: Mapping[str, Any]) -> None:
    """Commit a checkpoint: `state` is all that is not a tensor."""
    write_sealed(path, state)


def read_state(path: Path) -> dict[str, Any]:
    """Return what `write_state` was given, refusing with a StoreError what is not exactly that."""
    try:
        return read_sealed(path)
    except StoreError:
        state = _unsealed(path)
        if state is None:
            raise
        return state


def files_of(path: Path, state: Mapping[str, Any]) -> list[Path]:
    """Return the files a checkpoint consists of, the commit last."""
    best = state.get("best")
    return [*([path.parent / best["file"]] if best else []), path.with_suffix(".safetensors"), path]


def _unsealed(path: Path) -> dict[str, Any] | None:
    """Return the state of a checkpoint of version 0.1, whose JSON has no digest; a damaged sealed one is none."""
    state = read_json(path, error=StoreError)
    if "tensors" not in state or "body" in state:
        return None
    require(state["tensors"] == f"{path.stem}.safetensors", "it names another file", StoreError)
    return state
