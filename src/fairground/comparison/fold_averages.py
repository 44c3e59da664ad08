"""Runs that differ in their fold alone, averaged into one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from fairground.records.record import EpochRow, RunRecord, grouped, one_of_each_spec
from fairground.spec import hash_of, without_fold


def join_folds(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Return the records with finished runs that differ in their fold alone averaged; others come back untouched."""
    joined: list[RunRecord] = []
    for method, group in fold_groups(records).items():
        if _n_folds(group) == 1:
            joined += group
            continue
        joined += [replace(record, method=method) for record in group if record.state != "done"]
        by_seed = grouped((seed_of(record), record) for record in group if record.state == "done")
        joined += [_one(method, runs) for runs in by_seed.values()]
    return joined


def fold_groups(records: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Return the runs of each method, folds of all seeds, by the hash it has once its folds are averaged."""
    groups = grouped((_method(record), record) for record in records)
    return {method if _n_folds(group) > 1 else group[0].method: group for method, group in groups.items()}


def _one(method: str, runs: Sequence[RunRecord]) -> RunRecord:
    runs = sorted(runs, key=_fold)
    first = runs[0]
    scores = []
    for score in first.scores:
        known = [value for run in runs if (value := run.score(score.metric, score.split)) is not None]
        if len(known) == len(runs):
            is_higher = first.higher_is_better(score.metric)
            scores.append(replace(score, value=sum(known) / len(known), higher_is_better=is_higher))
    origins = [run.provenance for run in runs]
    contents = {what: sorted({run.content.get(what, "") for run in runs}) for run in runs for what in run.content}
    return replace(
        first,
        method=method,
        spec={**first.spec, "split": {**first.spec["split"], "fold": ", ".join(_fold(run) for run in runs)}},
        scores=tuple(scores),
        epochs=tuple(_epochs(runs)),
        # Folds choose their epochs apart: the mean of them has none.
        best_epoch=first.best_epoch if len({run.best_epoch for run in runs}) == 1 else None,
        notes=tuple(dict.fromkeys(note for run in runs for note in run.notes)),
        clustering_seeds=min(run.clustering_seeds for run in runs),
        is_closed_set=any(run.is_closed_set for run in runs),
        known_bugs=tuple(dict.fromkeys(bug for run in runs for bug in run.known_bugs)),
        provenance=replace(
            first.provenance,
            split_fingerprint="+".join(sorted({origin.split_fingerprint for origin in origins})),
            data_fingerprint=" or ".join(sorted({origin.data_fingerprint for origin in origins})),
            wall_seconds=fmean(origin.wall_seconds for origin in origins),
            peak_memory_bytes=round(fmean(origin.peak_memory_bytes for origin in origins)),
        ),
        content={what: " or ".join(some) for what, some in contents.items()},
    )


def _epochs(runs: Sequence[RunRecord]) -> Iterator[EpochRow]:
    """Yield the mean over folds of every epoch that all of them reached."""

    def means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
        return {key: fmean(one[key] for one in scores) for key in scores[0] if all(key in one for one in scores)}

    for rows in zip(*(run.epochs for run in runs), strict=False):
        validation, test, train = (
            means(some) for some in zip(*((r.validation, r.test, r.train) for r in rows), strict=True)
        )
        yield replace(rows[0], loss=None, validation=validation, test=test, train=train)


def _method(record: RunRecord) -> str:
    """Return the hash of the spec without seed and fold; of a run without folds, the method it has anyway."""
    is_fold = record.setting("split.fold") is not None
    return hash_of({**without_fold(record.spec), "seed": 0}) if is_fold else record.method


def _n_folds(records: Sequence[RunRecord]) -> int:
    return len({_fold(record) for record in one_of_each_spec(records)})


def _fold(record: RunRecord) -> str:
    return str(record.setting("split.fold"))


def seed_of(record: RunRecord) -> int:
    return int(record.spec.get("seed") or 0)
