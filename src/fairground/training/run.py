"""RunSpec in, RunRecord out: the whole walk of one run."""

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fairground.errors import DivergedError
from fairground.evaluation.embed import embed
from fairground.evaluation.scores import evaluate_in_detail
from fairground.records.arrays import write_arrays
from fairground.records.artefacts import RunFolder, write_atomically
from fairground.records.claim import claimed
from fairground.records.record import RunRecord, Score
from fairground.spec.identity import method_of, name_of, to_plain
from fairground.spec.load import run_from_plain
from fairground.spec.run import RunSpec
from fairground.spec.seeds import child_seed
from fairground.training.assemble import Assembled, assemble
from fairground.training.checkpoint import Checkpoints
from fairground.training.gallery import gallery_of
from fairground.training.loop import Listener, Training, view_of
from fairground.training.seal import SealedRows


def run(
    spec: RunSpec,
    *,
    home: Path,
    listen: Listener = lambda _: None,
    should_stop: Callable[[], bool] = lambda: False,
    witness: Callable[[str], None] | None = None,
    checkpoint_seconds: float = 30.0,
) -> RunRecord:
    """Train, select, and only then measure on the sealed test split; take up a run that was interrupted."""
    parts = assemble(spec)
    folder = RunFolder(home, name_of(spec))
    with claimed(folder), torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(spec.seed, "global"))
        write_atomically(folder.spec, json.dumps(to_plain(spec), indent=1).encode())
        training = Training(
            spec=spec,
            parts=parts,
            checkpoints=Checkpoints(folder.checkpoints),
            listen=listen,
            should_stop=should_stop,
            checkpoint_seconds=checkpoint_seconds,
        )
        _same_threads(training, training.resume())
        try:
            training.train()
        except DivergedError as error:
            return _record(training, scores=(), failure=str(error))
        sealed = SealedRows(parts.parts.test, witness=witness)
        sealed.end_selection(f"training; epoch {training.place.best_epoch} selected on validation")
        training.use_best()
        return _record(training, scores=_final_scores(spec, parts, sealed.open(), training, folder), failure=None)


def run_job(job: Mapping[str, Any], tell: Listener = lambda _: None) -> dict[str, Any]:
    """Run one plain spec, for executors: JSON in, JSON out; what it tells carries the run's name."""
    spec = run_from_plain(job["spec"])
    name = name_of(spec)
    told = 0.0

    def listen(event: Mapping[str, Any]) -> None:
        nonlocal told
        now = time.monotonic()
        # Five times a second is all an eye can follow; every batch would cost the driver more than the news is worth.
        if event["kind"] != "batch" or now - told > 0.2:
            told = now
            tell({"run": name, **event})

    record = run(spec, home=Path(job["home"]), listen=listen)
    result: dict[str, Any] = json.loads(record.to_json())
    return result


def _same_threads(training: Training, is_resumed: bool) -> None:
    """Sums split over another number of threads round differently: a run keeps the number it began with."""
    if is_resumed:
        torch.set_num_threads(training.place.threads)
    training.place.threads = torch.get_num_threads()


def _final_scores(
    spec: RunSpec, parts: Assembled, test: np.ndarray, training: Training, folder: RunFolder
) -> tuple[Score, ...]:
    embeddings = embed(parts.model, parts.table.images, test, parts.transform, device=parts.device)
    labels = parts.table.labels[test]
    view = view_of(spec, parts, embeddings, labels)
    found = evaluate_in_detail(view, spec.evaluation.metrics, lone=spec.evaluation.lone)
    arrays = {"embeddings": embeddings.cpu().numpy(), "labels": labels, "rows": test}
    write_arrays(folder.embeddings, arrays)
    # What each query scored, for paired comparisons of runs over the same queries.
    write_arrays(folder.queries, found.arrays())
    write_arrays(folder.gallery, gallery_of(parts.table, test, arrays["embeddings"]))
    folder.sign()
    chosen = next((row for row in training.place.rows if row.epoch == training.place.best_epoch), None)
    validation = chosen.validation if chosen is not None else {}
    return (
        *(Score(metric=name, split="validation", value=value) for name, value in validation.items()),
        *(Score(metric=name, split="test", value=value) for name, value in found.scores.items()),
    )


def _record(training: Training, *, scores: tuple[Score, ...], failure: str | None) -> RunRecord:
    spec, parts, place = training.spec, training.parts, training.place
    accelerator = "" if parts.device.type == torch.device("cpu").type else str(parts.device)
    return RunRecord(
        name=name_of(spec),
        method=method_of(spec),
        spec=to_plain(spec),
        state="done" if failure is None else "diverged",
        epochs=tuple(place.rows),
        best_epoch=place.best_epoch,
        scores=scores,
        notes=(*parts.notes, *training.checkpoints.notes, *place.notes),
        failure=failure,
        provenance=training.clock.finish(
            data_fingerprint=parts.data_fingerprint,
            split_fingerprint=parts.split_fingerprint,
            threads=torch.get_num_threads(),
            accelerator=accelerator,
        ),
    )
