"""A finished run as a model to use: its selected weights, and what is known of them."""

from pathlib import Path

import numpy as np

from fairground import __version__
from fairground.contracts.table import Images
from fairground.deploy.calibration import thresholds_of
from fairground.deploy.metadata import MeasuredScore, ModelMetadata, Threshold
from fairground.deploy.model import UsableModel
from fairground.errors import require
from fairground.evaluation.bootstrap import Bootstrap
from fairground.evaluation.embed import embed
from fairground.evaluation.scores import evaluate_in_detail
from fairground.records.arrays import array_names, read_arrays
from fairground.records.artefacts import RunFolder
from fairground.records.folders import resolve_run
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.training.loop import view_of
from fairground.training.reopen import Reopened, reopen

#: images whose sizes are asked to see whether all have one
_LOOKED_AT = 512
#: validation rows that the threshold is found on, at most: pairs grow with their square
_ROWS = 5000


def model_of_run(home: Path, name: str, *, measured: bool = True) -> UsableModel:
    """Return a run's selected model; `measured` also finds thresholds and intervals on its validation split."""
    run_name = resolve_run(home, name)
    run = reopen(home, run_name)
    store = Store(home)
    record = store.get(run_name) if run_name in store.names() else None
    parts, spec = run.parts, run.spec
    for key, part in (("trunk", spec.trunk), ("head", spec.head), ("transform", spec.transform)):
        require(
            ":" not in part.name,
            f"run {run_name} has {key}={part.name}, which lies outside fairground; use it in Python",
        )
    found = _validation(run) if measured else ((), ())
    images = parts.table.images
    train = np.unique(parts.table.labels[parts.parts.train])
    metadata = ModelMetadata(
        run=run_name,
        protocol=spec.protocol,
        fairground=__version__,
        trunk=spec.trunk,
        head=spec.head,
        transform=spec.transform,
        preprocessing=parts.model.trunk.preprocessing,
        precision=spec.training.precision,
        is_picture=images.is_picture,
        channels=images.channels,
        size=_common_size(images),
        embedding_dim=parts.model.head.embedding_dim,
        normalise=parts.on_sphere(spec.evaluation),
        classes=tuple(parts.table.class_names[label] for label in train),
        data=spec.data.name,
        split=spec.split.name,
        data_fingerprint=parts.data_fingerprint,
        split_fingerprint=parts.split_fingerprint,
        weights_sha256="",
        scores=(*found[0], *(_test_scores(home, run, record) if measured else ())),
        thresholds=found[1],
        notes=() if record is None else record.notes,
    )
    return UsableModel(network=parts.model.eval(), transform=parts.transform, metadata=metadata, device=parts.device)


def _validation(run: Reopened) -> tuple[tuple[MeasuredScore, ...], tuple[Threshold, ...]]:
    """Return the validation scores with intervals over classes, and the thresholds."""
    parts, evaluation = run.parts, run.spec.evaluation
    rows = parts.parts.validation
    if len(rows) == 0:
        return (), ()
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device).cpu()
    detail = evaluate_in_detail(
        view_of(run.spec, parts, embeddings, rows), evaluation.metrics, lone=evaluation.lone, bootstrap=Bootstrap()
    )
    scores = tuple(
        MeasuredScore(
            metric=metric,
            split="validation",
            value=value,
            low=detail.intervals[metric].low,
            high=detail.intervals[metric].high,
            confidence=detail.intervals[metric].confidence,
        )
        for metric, value in detail.scores.items()
    )
    some = (
        np.unique(np.linspace(0, len(rows) - 1, _ROWS).astype(np.int64)) if len(rows) > _ROWS else np.arange(len(rows))
    )
    return scores, thresholds_of(view_of(run.spec, parts, embeddings[some], rows[some]))


def _test_scores(home: Path, run: Reopened, record: RunRecord | None) -> tuple[MeasuredScore, ...]:
    """Return the recorded test scores, with intervals from what each query scored; the test split stays shut."""
    if record is None:
        return ()
    scores = [score for score in record.scores if score.split == "test"]
    path = RunFolder(home, record.name).queries
    found = []
    for score in scores:
        low, high, confidence = _interval(path, run, score.metric)
        found.append(
            MeasuredScore(
                metric=score.metric, split="test", value=score.value, low=low, high=high, confidence=confidence
            )
        )
    return tuple(found)


def _interval(path: Path, run: Reopened, metric: str) -> tuple[float | None, float | None, float | None]:
    if not path.is_file() or run.spec.evaluation.report != "selected":
        return None, None, None
    if f"per_query/{metric}" not in array_names(path):
        return None, None, None
    arrays = read_arrays(path, [f"per_query/{metric}", "is_counted"])
    values, is_counted = arrays[f"per_query/{metric}"], arrays["is_counted"]
    labels = _query_labels(run)
    if len(labels) != len(values):
        return None, None, None
    interval = Bootstrap().of_mean(values[is_counted], labels[is_counted])
    return interval.low, interval.high, interval.confidence


def _query_labels(run: Reopened) -> np.ndarray:
    """Return the class of each test query, as the run was judged; labels say nothing about the images."""
    table, rows = run.parts.table, run.parts.parts.test
    if table.is_query is not None and table.is_query[rows].any():
        rows = rows[table.is_query[rows]]
    labels: np.ndarray = table.labels[rows]
    return labels


def _common_size(images: Images) -> tuple[int, int] | None:
    if not images.is_picture:
        return None
    sizes = images.sizes(np.arange(min(len(images), _LOOKED_AT)))
    is_one = bool((sizes == sizes[0]).all())
    return (int(sizes[0, 0]), int(sizes[0, 1])) if is_one else None
