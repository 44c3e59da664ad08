"""Stored runs opened again: their selected weights, new scores, and the fold models of a repeat joined."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from fairground.evaluation import Average, concatenate, evaluate_in_detail
from fairground.evaluation.embed import embed
from fairground.records import RunFolder, Store, changes_in, newest_checkpoint, read_arrays, stored_spec
from fairground.spec import ComponentSpec, DamageWarning, DataError, StoreError, from_plain, read_json, require
from fairground.spec.load_run_spec import run_from_plain
from fairground.training import Checkpoints, InputProfile, SealedRows, device_named, measure, view_of
from fairground.training.assemble import Assembled, assemble

#: scores measured again on another device, or without float16 copies of frozen stages, differ by less
MOST_APART = 0.01


def reopen(home: Path, name: str, *, device: str = "auto") -> Assembled:
    """Return a stored run with its selected weights in place, ready to embed."""
    folder = RunFolder(home, name)
    parts = assemble(stored_spec(folder), device=device_named(device))
    if what := changes_in(newest_checkpoint(folder).get("content", {}), parts.content):
        DamageWarning.warn(f"run {name} was made with other content: {what}")
    parts.model.load_state_dict(selected_weights(folder))
    return parts


def unsealed_test_rows(parts: Assembled, store: Store, name: str) -> np.ndarray:
    """Return the test rows of a stored run that is done, and note that they were opened."""
    sealed = SealedRows(parts.split.test, witness=lambda what: store.note_event("test opened", name, what))
    if next(store.records(name=name, state="done"), None) is not None:
        sealed.end_selection("the run was done")
    return sealed.open()


def selected_weights(folder: RunFolder) -> dict[str, torch.Tensor]:
    """Return the weights a run selected; the last ones where nothing was selected."""
    checkpoints = Checkpoints(folder.checkpoints, folder.name)
    snapshot = checkpoints.load()
    require(snapshot is not None, f"run {folder.name} has no checkpoint yet", StoreError)
    assert snapshot is not None
    if best := snapshot.values["best"]:
        return checkpoints.load_best(best)
    return {key.removeprefix("model/"): value for key, value in snapshot.tensors.items() if key.startswith("model/")}


def evaluate_stored(
    home: Path,
    name: str,
    *,
    split: Literal["validation", "test"],
    metrics: Sequence[str] | None = None,
    average: Average = "queries",
    rerank: str = "",
    device: str = "auto",
) -> dict[str, float]:
    """Return the scores of the selected model of a run; if they contradict its record, say so and note it.

    `metrics` and `rerank` are those of the run unless they are given.
    """
    store = Store(home)
    record = next(store.records(name=name, state="done"), None)
    parts = reopen(home, name, device=device)
    asked = parts.spec.evaluation
    rows = unsealed_test_rows(parts, store, name) if split == "test" else parts.split.validation
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device)
    view = view_of(parts, embeddings, rows)
    way = rerank or asked.rerank
    names = list(metrics or asked.metrics)
    scores = dict(evaluate_in_detail(view, names, average=average, lone=asked.lone, rerank=way).scores)
    # With other content or averages, and where each metric has its own best epoch, other scores are no contradiction.
    is_alike = asked.report == "selected" and average == "queries"
    if record is not None and is_alike and not changes_in(record.content, parts.content):
        pairs = ((metric, new, record.score(metric, split)) for metric, new in scores.items())
        apart = [pair for pair in pairs if pair[2] is not None and abs(pair[2] - pair[1]) > MOST_APART]
        if apart:
            told = ", ".join(f"{metric} {new:.4g} instead of {old:.4g}" for metric, new, old in apart)
            store.note_event("disagreement", name, f"measured again on {split}: {told}")
            DamageWarning.warn(f"the scores of run {name} on {split} contradict its record: {told}")
    return scores


def ensemble_job(job: Mapping[str, Any], tell: object = None) -> dict[str, Any]:
    """Return the concatenated scores of `runs` under `home`, by the rules of `spec`; it reports nothing."""
    del tell
    names = [str(name) for name in job["runs"]]
    found = []
    for name in names:
        folder = RunFolder(Path(job["home"]), name)
        refusal = f"run {name} left no embeddings under {folder.root}; several machines need a --home they share"
        require(folder.embeddings.is_file(), refusal, DataError)
        arrays = read_arrays(folder.embeddings, ["embeddings", "rows"])
        found.append((arrays["embeddings"], arrays["rows"]))
    rows = found[0][1]
    refusal = f"the runs {', '.join(names)} tested on different images, so that they cannot be joined"
    require(all(np.array_equal(rows, other) for _, other in found), refusal, DataError)
    parts = assemble(run_from_plain(job["spec"]), device=torch.device("cpu"))
    joined = concatenate([torch.from_numpy(of_one) for of_one, _ in found], normalise=parts.on_sphere)
    scores = measure(parts, torch.as_tensor(joined), rows).scores
    return {"scores": dict(scores), "embedding_dim": int(joined.shape[1])}


def missing_place(data: ComponentSpec) -> str:
    """Return the path that a data set is read from where it is gone; empty otherwise."""
    place = data.settings.get("root") or data.settings.get("path")
    return place if isinstance(place, str) and place and not Path(place).expanduser().exists() else ""


def read_profile(folder: RunFolder, place: str) -> InputProfile:
    told = f"the data of run {folder.name} is no longer at '{place}', and the run did not note what its network takes"
    require(folder.inputs.is_file(), f"{told}; put the data back", StoreError)
    profile: InputProfile = from_plain(InputProfile, read_json(folder.inputs, error=StoreError))
    return profile
