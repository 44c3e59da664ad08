"""A finished run as a model to use: its selected weights and metadata."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from fairground import __version__
from fairground.deploy.calibration import thresholds_of
from fairground.deploy.metadata import DATA_GONE, MeasuredScore, ModelMetadata, Threshold
from fairground.deploy.model import UsableModel
from fairground.errors import require
from fairground.evaluation.bootstrap import Bootstrap, BootstrapInterval
from fairground.evaluation.embed import embed
from fairground.evaluation.metric_scores import evaluate_in_detail
from fairground.records.arrays import array_names, read_arrays
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder, resolve_run, stored_spec
from fairground.records.store import Store
from fairground.spec.run import ComponentSpec, RunSpec
from fairground.training.assemble import best_device, build_model, build_transform
from fairground.training.measure import view_of
from fairground.training.profiles import InputProfile, missing_place, profile_of, read_profile
from fairground.training.stored_run import Reopened, reopen, selected_weights

#: validation rows that the threshold is found on, at most: pairs grow with their square
_ROWS = 5000


def model_of_run(home: Path, name: str, *, measured: bool = True) -> UsableModel:
    """Return a run's selected model; `measured` also finds thresholds and intervals on its validation split.

    If the training data is gone, the model is as usable, with the scores of its record and nothing measured again.
    """
    run_name = resolve_run(home, name)
    folder = RunFolder(home, run_name)
    spec = stored_spec(folder)
    for key, part in (("trunk", spec.trunk), ("head", spec.head), ("transform", spec.transform)):
        require(
            ":" not in part.name,
            f"run {run_name} has {key}={part.name}, which is outside fairground; use it in Python",
        )
    store = Store(home)
    record = store.get(run_name) if run_name in store.names() else None
    place = missing_place(spec.data)
    if place:
        return _without_data(folder, spec, read_profile(folder, place), record)
    run = reopen(home, run_name)
    found = _validation(run) if measured else ((), ())
    scores = (*found[0], *(_test_scores(home, run, record) if measured else ()))
    metadata = _metadata(run_name, spec, profile_of(spec, run.parts), scores, found[1], record)
    model = run.parts.model.eval()
    return UsableModel(network=model, transform=run.parts.transform, metadata=metadata, device=run.parts.device)


def untrained(trunk: ComponentSpec) -> ComponentSpec:
    """Return a trunk without the file it began training from: the trained weights are in the folder."""
    cleared = {"weights": None, "weights_sha256": ""}
    settings = {key: cleared.get(key, value) for key, value in trunk.settings.items()}
    return ComponentSpec(name=trunk.name, settings=settings)


def _without_data(folder: RunFolder, spec: RunSpec, profile: InputProfile, record: RunRecord | None) -> UsableModel:
    device = best_device()
    model = build_model(untrained(spec.trunk), spec.head, spec.training, channels=profile.channels).to(device)
    model.load_state_dict(selected_weights(folder))
    model.trunk.preprocessing = profile.preprocessing
    scores = tuple(
        MeasuredScore(metric=score.metric, split=score.split, value=score.value)
        for score in (() if record is None else record.scores)
    )
    known = _metadata(folder.name, spec, profile, scores, (), record)
    metadata = replace(known, notes=(*known.notes, DATA_GONE))
    transform = build_transform(spec.transform, model)
    return UsableModel(network=model.eval(), transform=transform, metadata=metadata, device=device)


def _metadata(
    run: str,
    spec: RunSpec,
    profile: InputProfile,
    scores: tuple[MeasuredScore, ...],
    thresholds: tuple[Threshold, ...],
    record: RunRecord | None,
) -> ModelMetadata:
    return ModelMetadata(
        run=run,
        protocol=spec.protocol,
        fairground=__version__,
        trunk=spec.trunk,
        head=spec.head,
        transform=spec.transform,
        preprocessing=profile.preprocessing,
        precision=spec.training.precision,
        is_picture=profile.is_picture,
        channels=profile.channels,
        size=profile.size,
        embedding_dim=profile.embedding_dim,
        normalise=profile.is_normalised,
        classes=profile.classes,
        data=spec.data.name,
        split=spec.split.name,
        data_fingerprint=profile.data_fingerprint,
        split_fingerprint=profile.split_fingerprint,
        weights_sha256="",
        scores=scores,
        thresholds=thresholds,
        notes=() if record is None else record.notes,
    )


def _validation(run: Reopened) -> tuple[tuple[MeasuredScore, ...], tuple[Threshold, ...]]:
    """Return the validation scores with intervals over classes, and the thresholds."""
    parts, evaluation = run.parts, run.spec.evaluation
    rows = parts.split.validation
    if len(rows) == 0:
        return (), ()
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device).cpu()
    # A bootstrap over one class says nothing about other classes.
    bootstrap = Bootstrap() if len(np.unique(parts.table.labels[rows])) > 1 else None
    detail = evaluate_in_detail(
        view_of(run.spec, parts, embeddings, rows), evaluation.metrics, lone=evaluation.lone, bootstrap=bootstrap
    )
    scores = tuple(
        MeasuredScore(metric=metric, split="validation", value=value, **_bounds(detail.intervals.get(metric)))
        for metric, value in detail.scores.items()
    )
    some = (
        np.unique(np.linspace(0, len(rows) - 1, _ROWS).astype(np.int64)) if len(rows) > _ROWS else np.arange(len(rows))
    )
    return scores, thresholds_of(view_of(run.spec, parts, embeddings[some], rows[some]))


def _test_scores(home: Path, run: Reopened, record: RunRecord | None) -> tuple[MeasuredScore, ...]:
    """Return the recorded test scores, with intervals from what each query scored; the test split is not opened."""
    if record is None:
        return ()
    path = RunFolder(home, record.name).queries
    return tuple(
        MeasuredScore(
            metric=score.metric, split="test", value=score.value, **_bounds(_interval(path, run, score.metric))
        )
        for score in record.scores
        if score.split == "test"
    )


def _bounds(interval: BootstrapInterval | None) -> dict[str, float]:
    if interval is None:
        return {}
    return {"low": interval.low, "high": interval.high, "confidence": interval.confidence}


def _interval(path: Path, run: Reopened, metric: str) -> BootstrapInterval | None:
    is_stored = path.is_file() and run.spec.evaluation.report == "selected"
    if not is_stored or f"per_query/{metric}" not in array_names(path):
        return None
    arrays = read_arrays(path, [f"per_query/{metric}", "is_counted"])
    values, is_counted = arrays[f"per_query/{metric}"], arrays["is_counted"]
    table, rows = run.parts.table, run.parts.split.test
    if table.is_query is not None and table.is_query[rows].any():
        rows = rows[table.is_query[rows]]
    labels = table.labels[rows]
    if len(labels) != len(values) or len(np.unique(labels[is_counted])) == 1:
        return None
    return Bootstrap().of_mean(values[is_counted], labels[is_counted])
