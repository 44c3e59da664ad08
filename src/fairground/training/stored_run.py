"""A run from its folder: its selected model, what this takes, its scores on a split, and several runs as one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.model import Preprocessing
from fairground.errors import DataError, StoreError, require
from fairground.evaluation.embed import embed
from fairground.evaluation.metric_scores import concatenate, evaluate_in_detail
from fairground.files import read_json
from fairground.records.arrays import read_arrays
from fairground.records.run_folder import RunFolder, stored_spec
from fairground.records.store import Store
from fairground.spec.load import run_from_plain
from fairground.spec.run import ComponentSpec
from fairground.training.assemble import Assembled, assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.measure import SealedRows, measure, view_of
from fairground.training.model import InputProfile


def reopen(home: Path, name: str) -> Assembled:
    """Return a stored run with its selected weights in place, ready to embed."""
    folder = RunFolder(home, name)
    parts = assemble(stored_spec(folder))
    parts.model.load_state_dict(selected_weights(folder))
    return parts


def selected_weights(folder: RunFolder) -> dict[str, Tensor]:
    """Return the weights a run selected; the last ones where nothing was selected."""
    checkpoints = Checkpoints(folder.checkpoints, folder.name)
    snapshot = checkpoints.load()
    require(snapshot is not None, f"run {folder.name} has no checkpoint yet", StoreError)
    assert snapshot is not None
    best = snapshot.values["best"]
    last = {key.removeprefix("model/"): value for key, value in snapshot.tensors.items() if key.startswith("model/")}
    return checkpoints.load_best(best) if best else last


def evaluate_stored(
    home: Path, name: str, *, split: Literal["validation", "test"], metrics: Sequence[str] | None = None
) -> dict[str, float]:
    store = Store(home)
    done = store.names(state="done")
    parts = reopen(home, name)
    asked = parts.spec.evaluation
    if split == "test":
        sealed = SealedRows(parts.split.test, witness=lambda what: store.note_event("test opened", name, what))
        if name in done:
            sealed.end_selection("the run was done")
        rows = sealed.open()
    else:
        rows = parts.split.validation
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device)
    view = view_of(parts, embeddings, rows)
    return dict(evaluate_in_detail(view, list(metrics or asked.metrics), lone=asked.lone).scores)


def ensemble_job(job: Mapping[str, Any], tell: object = None) -> dict[str, Any]:
    """Return the concatenated scores of `runs` under `home`, by the rules of `spec`; it reports nothing."""
    del tell
    names = [str(name) for name in job["runs"]]
    found = [_embeddings(RunFolder(Path(job["home"]), name)) for name in names]
    rows = found[0][1]
    require(
        all(np.array_equal(rows, other) for _, other in found),
        f"the runs {', '.join(names)} tested on different images, so that they cannot be joined",
        DataError,
    )
    parts = assemble(run_from_plain(job["spec"]))
    joined = concatenate([torch.from_numpy(of_one) for of_one, _ in found], normalise=parts.on_sphere)
    scores = measure(parts, torch.as_tensor(joined), rows).scores
    return {"scores": dict(scores), "embedding_dim": int(joined.shape[1])}


def _embeddings(folder: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    require(
        folder.embeddings.is_file(),
        f"run {folder.name} left no embeddings under {folder.root}; several machines need a --home they share",
        DataError,
    )
    arrays = read_arrays(folder.embeddings, ["embeddings", "rows"])
    return arrays["embeddings"], arrays["rows"]


def missing_place(data: ComponentSpec) -> str:
    """Return the path that a data set is read from where it is gone; empty otherwise."""
    place = data.settings.get("root") or data.settings.get("path")
    return place if isinstance(place, str) and place and not Path(place).expanduser().exists() else ""


def read_profile(folder: RunFolder, place: str) -> InputProfile:
    """Return the profile of a run whose data is no longer at `place`."""
    path = folder.inputs
    require(
        path.is_file(),
        f"the data of run {folder.name} is no longer at '{place}', and the run did not note what its network takes; "
        "put the data back",
        StoreError,
    )
    data = read_json(path, error=StoreError)
    shape = data["preprocessing"]
    preprocessing = Preprocessing(**{**shape, "mean": tuple(shape["mean"]), "deviation": tuple(shape["deviation"])})
    size = None if data["size"] is None else (int(data["size"][0]), int(data["size"][1]))
    return InputProfile(**{**data, "size": size, "classes": tuple(data["classes"]), "preprocessing": preprocessing})
