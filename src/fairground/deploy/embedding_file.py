"""Embeddings straight to a file: a block at a time, taken up after a kill, renamed when complete.

While it is being made, `FILE.partial` is an .npy file of the whole size and `FILE.progress.json` says how many rows of
it are safely there, and of which model and data they are. A finished `.npz` holds `embeddings`, `files` and, where
classes are known, `labels` and `class_names`; beside a finished `.npy` lies the same as `FILE.json`. Pictures left
out because they could not be read are named in `left_out`.
"""

import io
import json
import os
import shutil
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairground.deploy.inputs import EmbeddingInputs
from fairground.deploy.model import UsableModel, block_length
from fairground.deploy.resize import resized_images
from fairground.errors import FairgroundError, StoreError, require
from fairground.files import read_json, write_atomically
from fairground.records.arrays import map_npy
from fairground.records.lock import held
from fairground.spec.identity import canonical_json
from fairground.training.checkpoint import to_bytes

Tell = Callable[[int, int], None]


@dataclass(frozen=True)
class _Journal:
    """The two files of an unfinished embedding, named after the finished one."""

    out: Path

    @property
    def rows(self) -> Path:
        return self.out.with_name(f"{self.out.name}.partial")

    @property
    def progress(self) -> Path:
        return self.out.with_name(f"{self.out.name}.progress.json")

    @property
    def lock(self) -> Path:
        return self.out.with_name(f".{self.out.name}.lock")

    def begun(self, identity: str, shape: tuple[int, int]) -> int:
        """Return how many rows of the same work are there; 0, with nothing left, where it is other work."""
        with suppress(FairgroundError, ValueError, KeyError, TypeError):
            noted = read_json(self.progress)
            held_rows = map_npy(self.rows)
            if noted["identity"] == identity and held_rows.shape == shape:
                return int(noted["done"])
        for path in (self.progress, self.rows):
            path.unlink(missing_ok=True)
        return 0

    def note(self, identity: str, done: int) -> None:
        write_atomically(self.progress, json.dumps({"identity": identity, "done": done}).encode())


def embed_to_file(
    model: UsableModel,
    inputs: EmbeddingInputs,
    out: Path,
    *,
    raw: bool = False,
    tell: Tell | None = None,
    note_seconds: float = 1.0,
) -> Path:
    """Write the embeddings of all rows to an .npy or .npz file and return its path; memory stays that of two blocks."""
    require(out.suffix in (".npy", ".npz"), f"embeddings are written as .npy or .npz; got '{out}'")
    require(not out.is_dir(), f"cannot write '{out}': it is a folder")
    require(len(inputs) > 0, "there is nothing to embed")
    resized_images(inputs.images, model.metadata)  # refused before any file is made
    journal = _Journal(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with held(journal.lock, f"the file {out}"):
            _fill(model, inputs, journal, raw, tell, note_seconds)
            _finish(journal, inputs)
        journal.lock.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot write {out}: {error.strerror or error}. What is done is kept: the same command takes it up again."
        ) from error
    return out


def _fill(
    model: UsableModel, inputs: EmbeddingInputs, journal: _Journal, raw: bool, tell: Tell | None, note_seconds: float
) -> None:
    identity = _identity(model, inputs, raw)
    shape = (len(inputs), model.metadata.embedding_dim)
    done = journal.begun(identity, shape)
    step = block_length(inputs.images)
    start = done if done == len(inputs) else done // step * step
    _require_space(journal, shape)
    if tell is not None:
        # What an earlier command did says nothing about the speed of this one.
        tell(start, len(inputs))
    mode = "r+" if start else "w+"
    rows = np.lib.format.open_memmap(journal.rows, mode=mode, dtype=np.float32, shape=None if start else shape)
    noted = time.monotonic()
    for begin, block in model.blocks(inputs.images, start=start, raw=raw):
        rows[begin : begin + len(block)] = block
        done = begin + len(block)
        if time.monotonic() - noted >= note_seconds or done == len(inputs):
            # The note comes after the rows, so that a killed process never believes in what is not there.
            rows.flush()
            journal.note(identity, done)
            noted = time.monotonic()
        if tell is not None:
            tell(done, len(inputs))


def _identity(model: UsableModel, inputs: EmbeddingInputs, raw: bool) -> str:
    """Return what the rows depend on; other weights or other data begin anew."""
    import hashlib

    weights = model.metadata.weights_sha256 or hashlib.sha256(to_bytes(model.network.state_dict())).hexdigest()
    parts = {name: {"name": part.name, **part.settings} for name, part in (("transform", model.metadata.transform),)}
    metadata = {
        **parts,
        "weights": weights,
        "data": inputs.images.fingerprint(),
        "names": list(inputs.names),
        "raw": raw,
    }
    return hashlib.sha256(canonical_json(metadata).encode()).hexdigest()


def _require_space(journal: _Journal, shape: tuple[int, int]) -> None:
    needed = shape[0] * shape[1] * 4 * (2 if journal.out.suffix == ".npz" else 1)
    free = shutil.disk_usage(journal.out.parent).free + (journal.rows.stat().st_size if journal.rows.exists() else 0)
    require(
        needed < free,
        f"the embeddings need {needed / 1e9:.1f} GB in {journal.out.parent}, where {free / 1e9:.1f} GB are free",
        StoreError,
    )


def _finish(journal: _Journal, inputs: EmbeddingInputs) -> None:
    """Put the finished file in its place; what is left over goes last, so that a kill here costs nothing."""
    out = journal.out
    if out.suffix == ".npy":
        listed = {"files": list(inputs.names)} | ({"left_out": list(inputs.left_out)} if inputs.left_out else {})
        known = {} if inputs.labels is None else _named_labels(inputs)
        write_atomically(out.with_suffix(".json"), json.dumps({**listed, **known}, ensure_ascii=False).encode())
        _sync(journal.rows)
        journal.rows.replace(out)
    else:
        packed = journal.rows.with_name(f"{out.name}.packing")
        columns = {"files": np.array(inputs.names)}
        if inputs.left_out:
            columns["left_out"] = np.array(inputs.left_out)
        if inputs.labels is not None:
            columns |= {"labels": inputs.labels, "class_names": np.array(inputs.class_names)}
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            # Stored, not compressed: whoever reads it can map the rows instead of loading them.
            archive.write(journal.rows, "embeddings.npy")
            for name, column in columns.items():
                content = io.BytesIO()
                np.lib.format.write_array(content, column, allow_pickle=False)
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())
        _sync(packed)
        packed.replace(out)
        journal.rows.unlink(missing_ok=True)
    journal.progress.unlink(missing_ok=True)


def _named_labels(inputs: EmbeddingInputs) -> dict[str, object]:
    assert inputs.labels is not None
    return {"labels": inputs.labels.tolist(), "class_names": list(inputs.class_names)}


def _sync(path: Path) -> None:
    with path.open("r+b") as file:
        os.fsync(file.fileno())
