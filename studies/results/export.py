"""Export the runs of studies: `python -m studies.results.export HOMES`, one home a study, named after it.

Test scores of every epoch are kept for three metrics; further metrics are of the selected epoch. Clusterings, which C9
reads, are those of the final runs of C1. Models joined from several folds have a row of their own. What is not finished
is left out, so that records can be exported as they come.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from studies.results.records import CLASSES, JOINED, ExportedRun, Key, read_runs, write_classes, write_runs

from fairground.evaluation.metric_scores import evaluate
from fairground.records.arrays import read_arrays
from fairground.records.record import EpochRow, RunRecord
from fairground.records.run_folder import RunFolder
from fairground.records.store import Store
from fairground.spec.run_and_method_names import canonical_json, name_of, to_plain
from fairground.spec.study_spec import StudyJob, StudySpec, jobs_of
from fairground.studies.seal import Seal
from fairground.studies.study_folder import begun_studies, folder_of
from fairground.studies.trials import TrialStore

RECORDS = Path("docs/results/records")
#: metrics whose every epoch is kept
CURVES = ("recall@1", "r_precision", "map@r")
#: clustering metrics, of the final runs of C1: computed here from the embeddings that they left
CLUSTERED = ("nmi", "ami", "f1")
CLUSTERED_STUDIES = "c1_"
#: more repeats than any study has
_MOST_REPEATS = 100


def export(home: Path, out: Path) -> int:
    """Export the one study of a home under the home's name; return how many runs it has."""
    ((_, study),) = begun_studies(home).items()
    store = Store(home)
    known = {run.run: run for run in read_runs(out, home.name)}
    done = set(store.names())
    runs = []
    for job in jobs_of(study):
        for kind, spec_name in _names(job, study, store, home):
            if spec_name in done:
                runs.append(_exported(store.get(spec_name), home, job, kind, known.get(spec_name)))
        for record in _joined(job, study, store):
            # Its folds are counted already, and it has no epoch of its own.
            one = _exported(record, home, job, JOINED, None)
            runs.append(replace(one, best_epoch=0, cpu_seconds=0.0, wall_seconds=0.0))
    write_runs(out, home.name, runs)
    write_classes(out, home.name, (row for run in runs if run.is_final for row in _classes(home, run.run)))
    return len(runs)


def _names(job: StudyJob, study: StudySpec, store: Store, home: Path) -> Iterator[tuple[str, str]]:
    """Yield kind and name of every run the job may have."""
    for trial in TrialStore(folder_of(study, home).path).trials(job.label):
        for fold in study.folds.used:
            spec = job.spec(seed=study.seed, fold=fold, settings=trial.settings, test=False)
            yield "trial", name_of(spec)
    more = replace(study, repeats=_MOST_REPEATS)
    seal = Seal(store, more)
    if seal.selection() is not None:
        for spec in seal.final_specs(replace(job, study=more)).values():
            yield "final", name_of(spec)


def _joined(job: StudyJob, study: StudySpec, store: Store) -> list[RunRecord]:
    """Return the records of a job's models joined from all folds."""
    seal = Seal(store, study)
    if len(study.folds.used) < 2 or seal.selection() is None:
        return []
    wanted = {_without_folds(to_plain(spec)) for spec in seal.final_specs(job).values()}
    done = store.records(state="done")
    return [one for one in done if "ensemble" in one.spec and _without_folds(one.spec) in wanted]


def _without_folds(spec: Mapping[str, object]) -> str:
    return canonical_json({key: value for key, value in spec.items() if key not in ("split", "ensemble")})


def _exported(record: RunRecord, home: Path, job: StudyJob, kind: str, known: ExportedRun | None) -> ExportedRun:
    seed = record.spec["seed"]
    assert isinstance(seed, int)
    epochs = _epochs(record, is_final=kind == "final")
    if kind == "final" and record.state == "done" and home.name.startswith(CLUSTERED_STUDIES):
        for metric, value in _clustered(record, home, known).items():
            epochs["test", metric] = {record.best_epoch or 0: value}
    return ExportedRun(
        study=home.name,
        run=record.name,
        data=job.data.label,
        method=job.method.label,
        kind=kind,
        seed=seed,
        state=record.state,
        best_epoch=record.best_epoch,
        cpu_seconds=record.provenance.cpu_seconds,
        wall_seconds=record.provenance.wall_seconds,
        settings=_settings(record),
        epochs=epochs,
    )


def _epochs(record: RunRecord, *, is_final: bool) -> dict[Key, dict[int, float]]:
    """Return curves of a final run, and of any run the scores of its selected epoch."""
    found: dict[Key, dict[int, float]] = {}
    for score in record.scores:
        found[score.split, score.metric] = {record.best_epoch or 0: score.value}
    for row in record.epochs if is_final else ():
        for split, scores in _splits(row).items():
            for metric in CURVES:
                if metric in scores:
                    found.setdefault((split, metric), {})[row.epoch] = scores[metric]
    return found


def _splits(row: EpochRow) -> Mapping[str, Mapping[str, float]]:
    return {"validation": row.validation, "test": row.test}


def _clustered(record: RunRecord, home: Path, known: ExportedRun | None) -> dict[str, float]:
    before = {} if known is None else {metric: known.scores.get(("test", metric)) for metric in CLUSTERED}
    if before and all(value is not None for value in before.values()):
        return {metric: value for metric, value in before.items() if value is not None}
    path = RunFolder(home, record.name).embeddings
    if not path.is_file():
        return {}
    arrays = read_arrays(path, ["embeddings", "labels"])
    return dict(evaluate(arrays["embeddings"], arrays["labels"], CLUSTERED))


def _classes(home: Path, name: str) -> Iterator[Sequence[object]]:
    """Yield a row per test class of one run: its name, its queries and their means."""
    path = RunFolder(home, name).queries
    metrics = [f"per_class/{metric}" for metric in CLASSES[3:]]
    if path.is_file():
        arrays = read_arrays(path, ["class_names", "class_sizes", *metrics])
        for label, n, *values in zip(*arrays.values(), strict=True):
            yield name, label, n, *(f"{value:.4g}" for value in values)


def _settings(record: RunRecord) -> dict[str, object]:
    """Return what tells methods apart: settings of loss, miner, regulariser, and learning rates."""
    found: dict[str, object] = {}
    for part in ("loss", "miner", "regulariser"):
        said = record.spec.get(part)
        if isinstance(said, Mapping):
            found |= {f"{part}.{key}": value for key, value in said.items()}
    optimiser = record.spec["optimiser"]
    assert isinstance(optimiser, Mapping)
    return found | {f"optimiser.{rate}": optimiser.get(rate) for rate in ("lr", "loss_lr")}


def main() -> None:
    """Export every home named on the command line."""
    for name in sys.argv[1:]:
        print(f"{name}: {export(Path(name), RECORDS)} runs")


if __name__ == "__main__":
    main()
