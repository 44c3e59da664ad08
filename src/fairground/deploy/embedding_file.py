"""Embeddings straight to a file, a block at a time; the file appears when it is complete.

An `.npz` holds `embeddings`, `files` and, where classes are known, `labels` and `class_names`; an `.npy` has the same
beside it as `.json`. Unreadable pictures that were left out are named in `left_out`.
"""

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fairground.deploy.inputs import EmbeddingInputs
from fairground.deploy.model import UsableModel
from fairground.errors import StoreError, require
from fairground.files import cannot_write, write_atomically

Tell = Callable[[int, int], None]


def embed_to_file(
    model: UsableModel, inputs: EmbeddingInputs, out: Path, *, raw: bool = False, tell: Tell = lambda *_: None
) -> Path:
    """Write the embeddings of all rows to an .npy or .npz file and return its path; memory stays that of two blocks."""
    require(out.suffix in (".npy", ".npz"), f"embeddings are written as .npy or .npz; got '{out}'")
    require(not out.is_dir(), f"cannot write '{out}': it is a folder")
    require(len(inputs) > 0, "there is nothing to embed")
    shape = (len(inputs), model.metadata.embedding_dim)
    rows, packed = out.with_name(f".{out.name}.partial"), out.with_name(f".{out.name}.packing")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _require_space(out, 4 * shape[0] * shape[1])
        with rows.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
            for begin, block in model.blocks(inputs.images, raw=raw):
                file.write(np.ascontiguousarray(block, "<f4").tobytes())
                tell(begin + len(block), len(inputs))
            file.flush()
            os.fsync(file.fileno())
        columns = _columns(inputs)
        if out.suffix == ".npy":
            listed = {name: column.tolist() for name, column in columns.items()}
            write_atomically(out.with_suffix(".json"), json.dumps(listed, ensure_ascii=False).encode())
            rows.replace(out)
        else:
            _pack(rows, columns, packed)
            packed.replace(out)
    except OSError as error:
        raise StoreError(cannot_write(out, error)) from error
    finally:
        for path in (rows, packed):
            path.unlink(missing_ok=True)
    return out


def _columns(inputs: EmbeddingInputs) -> dict[str, np.ndarray]:
    columns = {"files": np.array(inputs.names)}
    if inputs.left_out:
        columns["left_out"] = np.array(inputs.left_out)
    if inputs.labels is not None:
        columns |= {"labels": inputs.labels, "class_names": np.array(inputs.class_names)}
    return columns


def _pack(rows: Path, columns: dict[str, np.ndarray], packed: Path) -> None:
    # Stored, not compressed: a reader can map the rows instead of loading them.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        archive.write(rows, "embeddings.npy")
        for name, column in columns.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, column, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue())


def _require_space(out: Path, n_bytes: int) -> None:
    needed, free = n_bytes * (2 if out.suffix == ".npz" else 1), shutil.disk_usage(out.parent).free
    message = f"the embeddings need {needed / 1e9:.1f} GB in {out.parent}, where {free / 1e9:.1f} GB are free"
    require(needed < free, message, StoreError)
