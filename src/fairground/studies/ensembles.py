"""The fold models of one repeat joined into one: which jobs that takes, and the record it leaves.

The record carries the spec of its folds with `ensemble` added, so that the fairness rules will not let a joined model
share a table with single ones.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairground.records.record import RunRecord, Score
from fairground.records.store import Store
from fairground.spec.identity import hash_of
from fairground.studies.executors.executor import Executor

#: named, never imported: this wing stays free of torch
JOB = "fairground.training.stored_run:ensemble_job"


def join(
    repeats: Sequence[Sequence[RunRecord]], *, store: Store, executor: Executor
) -> tuple[list[RunRecord], list[str]]:
    """Return a record for every repeat whose folds are all done, and a sentence for each that could not be joined."""
    complete = [runs for runs in repeats if all(run.state == "done" for run in runs)]
    wanted = {hash_of(_spec(runs)): runs for runs in complete}
    done = set(store.names(state="done"))
    stored = {name: store.get(name) for name in wanted if name in done}
    jobs = {name: _argument(runs, store) for name, runs in wanted.items() if name not in stored}
    complaints = []
    for outcome in executor.run(jobs):
        name = outcome.job_id
        if outcome.result is None:
            complaints.append(str(outcome.failure))
            continue
        stored[name] = _record(name, wanted[name], outcome.result)
        store.append(stored[name])
    return [stored[name] for name in wanted if name in stored], complaints


def _argument(runs: Sequence[RunRecord], store: Store) -> dict[str, Any]:
    return {
        "runs": [run.name for run in runs],
        "home": str(store.root.absolute()),
        "spec": dict(runs[0].spec),
    }


def _spec(runs: Sequence[RunRecord]) -> dict[str, Any]:
    splits: list[Any] = [run.spec["split"] for run in runs]
    folds = ", ".join(str(split.get("fold")) for split in splits)
    return {**runs[0].spec, "split": {**splits[0], "fold": folds}, "ensemble": "concatenated"}


def _record(name: str, runs: Sequence[RunRecord], result: Any) -> RunRecord:
    spec = _spec(runs)
    scores = [
        Score(metric=metric, split="test", value=value, higher_is_better=runs[0].higher_is_better(metric))
        for metric, value in result["scores"].items()
    ]
    concatenated = f"concatenated: {len(runs)} fold models, {result['embedding_dim']} dimensions together"
    wall = sum(run.provenance.wall_seconds for run in runs)
    return replace(
        runs[0],
        name=name,
        method=hash_of(spec | {"seed": 0}),
        spec=spec,
        epochs=(),
        best_epoch=None,
        scores=tuple(scores),
        notes=tuple(dict.fromkeys([concatenated, *(note for run in runs for note in run.notes)])),
        findings=(),
        provenance=replace(
            runs[0].provenance,
            wall_seconds=wall,
            cpu_seconds=sum(run.provenance.cpu_seconds for run in runs),
            split_fingerprint="+".join(sorted({run.provenance.split_fingerprint for run in runs})),
        ),
    )
