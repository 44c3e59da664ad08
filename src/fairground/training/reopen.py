"""A run from its folder: its selected model, and that model's scores on a split."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from torch import Tensor

from fairground.errors import StoreError, require
from fairground.evaluation.embed import embed
from fairground.evaluation.scores import evaluate_in_detail
from fairground.records.run_folder import RunFolder, stored_spec
from fairground.records.store import Store
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled, assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.measure import view_of
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
    best = snapshot.facts["best"]
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
