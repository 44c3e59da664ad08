"""A run from its folder: its selected model, that model's scores on a split, and several runs evaluated as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from fairground.errors import DataError, StoreError, require
from fairground.evaluation.embed import embed
from fairground.evaluation.ensemble import concatenate
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.records.arrays import read_arrays
from fairground.records.run_folder import RunFolder, stored_spec
from fairground.records.store import Store
from fairground.spec.load import run_from_plain
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled, assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.measure import measure, view_of
from fairground.training.seal import SealedRows


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A stored run with its selected weights in place, ready to embed."""

    spec: RunSpec
    parts: Assembled


def reopen(home: Path, name: str) -> Reopened:
    """Return a run's model as it was selected; the last weights where nothing was selected."""
    folder = RunFolder(home, name)
    spec = stored_spec(folder)
    parts = assemble(spec)
    parts.model.load_state_dict(selected_weights(folder))
    return Reopened(spec=spec, parts=parts)


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
    """Return the scores of a run's selected model on one of its splits."""
    store = Store(home)
    done = store.names(state="done")
    run = reopen(home, name)
    parts, asked = run.parts, run.spec.evaluation
    if split == "test":
        sealed = SealedRows(parts.split.test, witness=lambda what: store.note_event("test opened", name, what))
        if name in done:
            sealed.end_selection("the run was done")
        rows = sealed.open()
    else:
        rows = parts.split.validation
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device)
    view = view_of(run.spec, parts, embeddings, rows)
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
    spec = run_from_plain(job["spec"])
    parts = assemble(spec)
    embeddings = [torch.from_numpy(of_one) for of_one, _ in found]
    joined = concatenate(embeddings, normalise=parts.on_sphere(spec.evaluation))
    scores = measure(spec, parts, torch.as_tensor(joined), rows).scores
    return {"scores": dict(scores), "embedding_dim": int(joined.shape[1])}


def _embeddings(folder: RunFolder) -> tuple[np.ndarray, np.ndarray]:
    require(
        folder.embeddings.is_file(),
        f"run {folder.name} left no embeddings under {folder.root}; several machines need a --home they share",
        DataError,
    )
    arrays = read_arrays(folder.embeddings, ["embeddings", "rows"])
    return arrays["embeddings"], arrays["rows"]
