"""The fold models of a repeat joined into one and scored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairground.records import RunRecord, Score, Store
from fairground.spec import hash_of
from fairground.studies.executors.executor import Executor

#: joins the fold models of one repeat; named, not imported, so that torch is not
JOIN_JOB = "fairground.training.evaluate_stored_runs:ensemble_job"


def join_folds(
    repeats: Sequence[Sequence[RunRecord]], *, store: Store, executor: Executor
) -> tuple[list[RunRecord], list[str]]:
    """Join the fold models of every repeat whose folds are all done; return records, and a sentence per failure."""
    complete = {hash_of(joined_spec(runs)): runs for runs in repeats if all(run.state == "done" for run in runs)}
    done = set(store.names(state="done"))
    stored = {name: store.get(name) for name in complete if name in done}
    for name in [name for name, record in stored.items() if record.content != complete[name][0].content]:
        store.begin_again(name, "its folds were made again")
        del stored[name]
    home = str(store.root.absolute())
    missing = {name: runs for name, runs in complete.items() if name not in stored}
    names = {name: [run.name for run in runs] for name, runs in missing.items()}
    jobs = {name: {"runs": names[name], "home": home, "spec": dict(runs[0].spec)} for name, runs in missing.items()}
    complaints = []
    for outcome in executor.run(jobs):
        if outcome.result is None:
            complaints.append(str(outcome.failure))
        else:
            record = stored[outcome.job_id] = joined_record(complete[outcome.job_id], outcome.result)
            store.append(record)
    return [stored[name] for name in complete if name in stored], complaints


def joined_spec(runs: Sequence[RunRecord]) -> dict[str, Any]:
    """Return the spec of the folds with `ensemble` added, so that no table has joined models beside single ones."""
    splits: list[Any] = [run.spec["split"] for run in runs]
    folds = ", ".join(str(split.get("fold")) for split in splits)
    return {**runs[0].spec, "split": {**splits[0], "fold": folds}, "ensemble": "concatenated"}


def joined_record(runs: Sequence[RunRecord], result: Mapping[str, Any]) -> RunRecord:
    spec = joined_spec(runs)
    scores = [
        Score(metric=metric, split="test", value=value, higher_is_better=runs[0].higher_is_better(metric))
        for metric, value in result["scores"].items()
    ]
    concatenated = f"concatenated: {len(runs)} fold models, {result['embedding_dim']} dimensions together"
    return replace(
        runs[0],
        name=hash_of(spec),
        method=hash_of(spec | {"seed": 0}),
        spec=spec,
        epochs=(),
        best_epoch=None,
        scores=tuple(scores),
        notes=tuple(dict.fromkeys([concatenated, *(note for run in runs for note in run.notes)])),
        findings=(),
        provenance=replace(
            runs[0].provenance,
            wall_seconds=sum(run.provenance.wall_seconds for run in runs),
            cpu_seconds=sum(run.provenance.cpu_seconds for run in runs),
            split_fingerprint="+".join(sorted({run.provenance.split_fingerprint for run in runs})),
        ),
    )
