"""The end of a run: what the selected model scores, and all that these scores were made from, beside the record."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from fairground.evaluation.analyses import analyse
from fairground.evaluation.metric_names import metric_named
from fairground.evaluation.view import EmbeddingView
from fairground.records.arrays import write_arrays
from fairground.records.record import Score, SplitName
from fairground.records.run_folder import RunFolder
from fairground.training.gallery import gallery_of
from fairground.training.loop import Training
from fairground.training.measure import measure
from fairground.training.seal import SealedRows


def final_scores(training: Training, sealed: SealedRows, folder: RunFolder) -> tuple[Score, ...]:
    """Return the scores of the selected model: of the split that selected, of the test split, and analyses."""
    test = _test_scores(training, sealed.open(), folder) if training.spec.evaluation.test else {}
    return (
        *(Score(metric=name, split="train", value=value) for name, value in _analyses(training, folder).items()),
        *selecting_scores(training),
        *_directed(test, "test"),
    )


def selecting_scores(training: Training) -> tuple[Score, ...]:
    """Return the validation scores of the epoch selected so far; none where the test split selects."""
    chosen = next((row for row in training.progress.rows if row.epoch == training.progress.best_epoch), None)
    judged = chosen.validation if chosen is not None and training.spec.evaluation.select_on == "validation" else {}
    return _directed(judged, "validation")


def _directed(scores: Mapping[str, float], split: SplitName) -> tuple[Score, ...]:
    """Return scores that say which way they are better, as their metrics declare."""
    return tuple(
        Score(metric=name, split=split, value=value, higher_is_better=metric_named(name).higher_is_better)
        for name, value in scores.items()
    )


def _test_scores(training: Training, rows: np.ndarray, folder: RunFolder) -> dict[str, float]:
    embeddings = training.embed(rows)
    scores: dict[str, float] = training.group.broadcast_object(lambda: _judge_test(training, embeddings, rows, folder))
    return scores


def _judge_test(training: Training, embeddings: Tensor, rows: np.ndarray, folder: RunFolder) -> dict[str, float]:
    """Return the test scores, with all that they were made from written beside the record."""
    spec, parts = training.spec, training.parts
    found = measure(spec, parts, embeddings, rows)
    arrays = {"embeddings": embeddings.cpu().numpy(), "labels": parts.table.labels[rows], "rows": rows}
    write_arrays(folder.embeddings, arrays)
    # What each query scored, for paired comparisons of runs over the same queries.
    write_arrays(folder.queries, found.arrays())
    pictures = gallery_of(parts.table, rows, arrays["embeddings"])
    if pictures is not None:
        write_arrays(folder.gallery, pictures)
    if spec.evaluation.report == "selected":
        return dict(found.scores)
    looks = [row.validation for row in training.progress.rows if row.epoch > 0 and row.validation]
    return {name: _best(name, [look[name] for look in looks] or [value]) for name, value in found.scores.items()}


def _best(metric: str, values: Sequence[float]) -> float:
    return max(values) if metric_named(metric).higher_is_better else min(values)


def _analyses(training: Training, folder: RunFolder) -> dict[str, float]:
    """Return what is to be said of the training split in numbers; its curves are kept beside the record."""
    if not training.spec.evaluation.analyses:
        return {}
    embeddings = training.embed(training.parts.split.train)
    values: dict[str, float] = training.group.broadcast_object(lambda: _judge_train(training, embeddings, folder))
    return values


def _judge_train(training: Training, embeddings: Tensor, folder: RunFolder) -> dict[str, float]:
    spec, parts = training.spec, training.parts
    rows = parts.split.train
    view = EmbeddingView(embeddings, parts.table.labels[rows], normalise=parts.on_sphere(spec.evaluation))
    found = analyse(view, analyses=spec.evaluation.analyses)
    curves = {
        f"{name}/{curve}": values for name, findings in found.items() for curve, values in findings.curves.items()
    }
    if curves:
        write_arrays(folder.analyses, curves)
    return {name: value for findings in found.values() for name, value in findings.values.items()}
