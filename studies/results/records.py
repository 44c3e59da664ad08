"""Exported records: what pages are made from, as small files per study that any program can read.

STUDY.runs.csv.gz     one row per run: data set, method, kind (final, trial or joined), seed, state, settings, seconds
STUDY.scores.csv.gz   one row per number: run, split, metric, epoch, value; test by epoch where it was watched
STUDY.classes.csv.gz  one row per final run and test class: how many queries, their mean Recall@1 and MAP@R
"""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RUNS = ("run", "data", "method", "kind", "seed", "state", "best_epoch", "cpu_seconds", "wall_seconds", "settings")
SCORES = ("run", "split", "metric", "epoch", "value")
CLASSES = ("run", "class", "queries", "recall@1", "map@r")
#: the kind of a model joined from those of several folds
JOINED = "joined"
#: a test score, a validation score or an analysis of the training split
Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class ExportedRun:
    """One run: `scores` of the selected epoch and `epochs` by (split, metric), the latter by epoch."""

    study: str
    run: str
    data: str
    method: str
    kind: str
    seed: int
    state: str
    best_epoch: int | None
    cpu_seconds: float
    wall_seconds: float
    settings: Mapping[str, Any]
    scores: Mapping[Key, float] = field(default_factory=dict)
    epochs: Mapping[Key, Mapping[int, float]] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        """Whether it is one of the runs that were repeated after selection and judged on test classes."""
        return self.kind == "final" and self.state == "done"


def write_runs(folder: Path, study: str, runs: Sequence[ExportedRun]) -> None:
    """Write the two files of a study; the same runs give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"{study}.runs.csv.gz", RUNS, map(_run_row, runs))
    _write(folder / f"{study}.scores.csv.gz", SCORES, (row for run in runs for row in _score_rows(run)))


def write_classes(folder: Path, study: str, rows: Iterable[Sequence[object]]) -> None:
    """Write the scores of test classes of a study, rows of `CLASSES`, so that anybody can draw classes again."""
    _write(folder / f"{study}.classes.csv.gz", CLASSES, rows)


def read_runs(folder: Path, study: str) -> list[ExportedRun]:
    """Return the runs of a study; none where nothing was exported."""
    if not (folder / f"{study}.runs.csv.gz").exists():
        return []
    epochs: dict[str, dict[Key, dict[int, float]]] = {}
    for row in _read(folder / f"{study}.scores.csv.gz"):
        found = epochs.setdefault(row["run"], {}).setdefault((row["split"], row["metric"]), {})
        found[int(row["epoch"])] = float(row["value"])
    return [_run(study, row, epochs.get(row["run"], {})) for row in _read(folder / f"{study}.runs.csv.gz")]


def _run(study: str, row: Mapping[str, str], epochs: Mapping[Key, Mapping[int, float]]) -> ExportedRun:
    best = int(row["best_epoch"]) if row["best_epoch"] else None
    return ExportedRun(
        study=study,
        run=row["run"],
        data=row["data"],
        method=row["method"],
        kind=row["kind"],
        seed=int(row["seed"]),
        state=row["state"],
        best_epoch=best,
        cpu_seconds=float(row["cpu_seconds"]),
        wall_seconds=float(row["wall_seconds"]),
        settings=json.loads(row["settings"]),
        scores={key: found[best] for key, found in epochs.items() if best is not None and best in found},
        epochs=epochs,
    )


def _run_row(run: ExportedRun) -> Sequence[object]:
    best = "" if run.best_epoch is None else run.best_epoch
    settings = json.dumps(dict(run.settings), sort_keys=True)
    head = (run.run, run.data, run.method, run.kind, run.seed, run.state, best)
    return (*head, round(run.cpu_seconds, 2), round(run.wall_seconds, 1), settings)


def _score_rows(run: ExportedRun) -> Iterator[Sequence[object]]:
    for (split, metric), found in sorted(run.epochs.items()):
        for epoch, value in sorted(found.items()):
            yield run.run, split, metric, epoch, f"{value:.6g}"


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def _read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
