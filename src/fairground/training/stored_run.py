"""A run from its folder: its selected model, what this takes, its scores on a split, and several runs as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from fairground.spec.run import ComponentSpec, RunSpec
from fairground.training.assemble import Assembled, assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.measure import measure, view_of
from fairground.training.seal import SealedRows

#: images whose sizes are read to see whether all have one
_LOOKED_AT = 512


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A stored run with its selected weights in place, ready to embed."""

    spec: RunSpec
    parts: Assembled


def reopen(home: Path, name: str) -> Reopened:
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


@dataclass(frozen=True, kw_only=True)
class InputProfile:
    """What a run's network takes, for use where the training data is gone.

    `size` is the height and width of the images, where all have one; `classes` are those trained on.
    """

    is_picture: bool
    channels: int
    size: tuple[int, int] | None
    classes: tuple[str, ...]
    embedding_dim: int
    is_normalised: bool
    preprocessing: Preprocessing
    data_fingerprint: str
    split_fingerprint: str


def profile_of(spec: RunSpec, parts: Assembled) -> InputProfile:
    images, labels = parts.table.images, parts.table.labels
    trained = np.unique(labels[parts.split.train])
    sizes = images.sizes(np.arange(min(len(images), _LOOKED_AT))) if images.is_picture else np.zeros((0, 2))
    is_one_size = len(sizes) > 0 and bool((sizes == sizes[0]).all())
    return InputProfile(
        is_picture=images.is_picture,
        channels=images.channels,
        size=(int(sizes[0, 0]), int(sizes[0, 1])) if is_one_size else None,
        classes=tuple(parts.table.class_names[label] for label in trained),
        embedding_dim=parts.model.head.embedding_dim,
        is_normalised=parts.on_sphere(spec.evaluation),
        preprocessing=parts.model.trunk.preprocessing,
        data_fingerprint=parts.data_fingerprint,
        split_fingerprint=parts.split_fingerprint,
    )


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
