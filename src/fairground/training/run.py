"""RunSpec in, RunRecord out: one run from end to end."""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, get_num_threads

from fairground.evaluation import metric_named
from fairground.records import RunFolder, locked, newest_checkpoint, require_unchanged, write_arrays
from fairground.records.record import RunRecord, Score, Selection, SplitName, State
from fairground.records.training_events import BatchTrained, EpochEnded, Event, Listener, Note
from fairground.spec import DivergedError, RunSpec, child_seed, method_of, name_of, sweep, to_plain, write_atomically
from fairground.training import ALONE, ProcessGroup, SealedRows, Training, analyse_train, gallery_of, measure
from fairground.training import device as hardware
from fairground.training.assemble import assemble


def run(
    spec: RunSpec,
    *,
    home: Path,
    listen: Listener = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    witness: Callable[[str], None] | None = None,
    checkpoint_seconds: float = 30.0,
    lock_patience: float = 0.0,
    group: ProcessGroup = ALONE,
    is_watched: bool = True,
    device: str = "auto",
) -> RunRecord:
    """Train, select, and only then measure on the sealed test split; go on with a run that was interrupted.

    The doctor watches unless `is_watched` is false; this is not part of the spec, because results do not depend on it.
    """
    place = hardware.device_named(device)
    hardware.require_precision(spec.training.precision, place)
    parts = assemble(spec, device=place)
    hardware.reset_peak_memory(parts.device)
    folder = RunFolder(home, name_of(spec))
    owned = locked(folder, patience=lock_patience) if group.is_leader else nullcontext()
    chosen = hardware.algorithms(place, deterministic=spec.training.deterministic)
    with owned, hardware.forked_streams(place), chosen:
        if group.is_leader:
            # Under the lock, temporary files can only be left over from a writer that was killed.
            sweep(folder.path)
            sweep(folder.checkpoints)
            if (begun := newest_checkpoint(folder).get("content")) is not None:
                require_unchanged(folder.name, begun, parts.content)
            write_atomically(folder.spec, json.dumps(to_plain(spec), indent=1).encode())
        if parts.model.trunk.n_frozen and spec.training.views:
            from fairground.training.stage_cache import prepare_inputs

            parts = prepare_inputs(parts, listen=listen, should_stop=should_stop)
        else:
            parts.prepare_images(listen)
        if group.is_leader:
            write_atomically(folder.inputs, json.dumps(asdict(parts.profile()), ensure_ascii=False).encode())
        if kept := parts.table.images.cache_sentence():
            listen(Note(sentence=kept))
        parts = parts.shared_by(group)
        hardware.seed_streams(child_seed(spec.seed, "global"), parts.device)
        sealed = SealedRows(parts.split.test, witness=witness)
        on_test, watches_test = spec.evaluation.select_on == "test", spec.evaluation.watch_test
        if on_test or watches_test:
            use = "is watched while validation selects" if watches_test else "selects"
            sealed.end_selection(f"nothing: the spec says that the test split {use}")
        training = Training(
            parts=parts,
            judged=sealed.open() if on_test else None,
            watched_test=sealed.open() if watches_test else None,
            checkpoints=group.checkpoints(folder),
            listen=listen,
            should_stop=should_stop,
            checkpoint_seconds=checkpoint_seconds,
            is_watched=is_watched,
        )
        training.resume()
        try:
            training.train()
        except DivergedError as error:
            return _record(training, state="diverged", scores=(), failure=str(error))
        if not on_test:
            sealed.end_selection(f"training; epoch {training.progress.best_epoch} selected on validation")
        training.use_best()
        return _record(training, state="done", scores=_final_scores(training, sealed, folder), failure=None)


def run_job(job: Mapping[str, Any], tell: Callable[[Mapping[str, Any]], None] = lambda _: None) -> RunRecord:
    """Run one spec for an executor; of its events it sends batches and epochs."""
    spec: RunSpec = job["spec"]
    name = name_of(spec)
    reported = 0.0

    def listen(event: Event) -> None:
        nonlocal reported
        now = time.monotonic()
        if isinstance(event, EpochEnded):
            tell({"kind": "epoch", "run": name, "row": asdict(event.row)})
        # Five times a second is all an eye can follow; every batch would cost the driver more than it is worth.
        elif isinstance(event, BatchTrained) and now - reported > 0.2:
            reported = now
            place = {"epoch": event.epoch, "of": event.n_epochs, "batch": event.batch, "batches": event.n_batches}
            tell({"kind": "batch", "run": name, **place, "loss": event.loss})

    # The worker of a driver that was killed may still be on its way out of this run.
    return run(spec, home=Path(job["home"]), listen=listen, lock_patience=30.0, device=job.get("device", "auto"))


def _final_scores(training: Training, sealed: SealedRows, folder: RunFolder) -> tuple[Score, ...]:
    """Return the scores of the selected model: of the split that selected, of the test split, and analyses."""
    asked, group = training.spec.evaluation, training.group
    analysed: dict[str, float] = {}
    tested: dict[str, float] = {}
    if asked.analyses:
        embeddings = training.embed(training.parts.split.train)

        def analyse() -> dict[str, float]:
            numbers, curves = analyse_train(training.parts, embeddings, asked.analyses)
            if curves:
                write_arrays(folder.analyses, curves)
            return numbers

        analysed = group.broadcast_object(analyse)
    if asked.test:
        rows = sealed.open()
        test_embeddings = training.embed(rows)
        tested = group.broadcast_object(lambda: _measure_test(training, test_embeddings, rows, folder))
    # Where the test split selects, there are no validation scores.
    chosen = next((row for row in training.progress.rows if row.epoch == training.progress.best_epoch), None)
    judged = chosen.validation if chosen is not None and training.spec.evaluation.select_on == "validation" else {}
    if (distance := training.parts.split.distance) is not None:
        analysed = {**analysed, "class_distance": distance}
    of_train = (Score(metric=name, split="train", value=value) for name, value in analysed.items())
    of_others: list[tuple[SplitName, Mapping[str, float]]] = [("validation", judged), ("test", tested)]
    directed = (
        Score(metric=name, split=split, value=value, higher_is_better=metric_named(name).higher_is_better)
        for split, scores in of_others
        for name, value in scores.items()
    )
    return (*of_train, *directed)


def _measure_test(training: Training, embeddings: Tensor, rows: np.ndarray, folder: RunFolder) -> dict[str, float]:
    """Return the test scores; write embeddings, scores per query and a gallery of pictures beside the record."""
    spec, parts = training.spec, training.parts
    found = measure(parts, embeddings, rows)
    arrays = {"embeddings": embeddings.cpu().numpy(), "labels": parts.table.labels[rows], "rows": rows}
    write_arrays(folder.embeddings, arrays)
    # For paired comparisons of runs over the same queries.
    write_arrays(folder.queries, found.arrays())
    pictures = gallery_of(parts.table, rows, arrays["embeddings"])
    if pictures is not None:
        write_arrays(folder.gallery, pictures)

    if spec.evaluation.report == "selected":
        return dict(found.scores)
    looks = [row.validation for row in training.progress.rows if row.epoch > 0 and row.validation]
    best = {name: max if metric_named(name).higher_is_better else min for name in found.scores}
    return {name: best[name]([look[name] for look in looks] or [value]) for name, value in found.scores.items()}


def _selection_notes(spec: RunSpec) -> list[str]:
    if spec.evaluation.watch_test:
        return ["the test split was measured after every validation; validation selected"]
    if spec.evaluation.select_on == "validation":
        return []
    each = ", each metric at its own best epoch" if spec.evaluation.report == "best_of_each" else ""
    return [f"selected on the test split{each}: the scores are too high by an unknown amount"]


def _record(training: Training, *, state: State, scores: tuple[Score, ...], failure: str | None) -> RunRecord:
    spec, parts, progress = training.spec, training.parts, training.progress
    return RunRecord(
        name=name_of(spec),
        method=method_of(spec),
        spec=to_plain(spec),
        state=state,
        epochs=tuple(progress.rows),
        best_epoch=progress.best_epoch,
        scores=scores,
        notes=(*_selection_notes(spec), *parts.notes, *training.checkpoints.notes, *progress.notes),
        selection=Selection(
            split=spec.evaluation.select_on,
            metric=spec.evaluation.select_by,
            is_best_of_each=spec.evaluation.report == "best_of_each",
        ),
        clustering_seeds=spec.evaluation.clustering_seeds,
        is_closed_set=parts.split.tests_trained_classes(parts.table.labels),
        known_bugs=parts.known_bugs,
        weights=parts.weights,
        failure=failure,
        findings=tuple(progress.findings),
        content=parts.content,
        provenance=training.clock.finish(
            data_fingerprint=parts.data_fingerprint,
            split_fingerprint=parts.split_fingerprint,
            threads=get_num_threads(),
            device=parts.device.type,
            device_details=hardware.device_details(parts.device),
            peak_device_bytes=training.peak_device_memory(),
        ),
    )
