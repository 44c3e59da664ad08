"""Records as the studies of the papers' tables would leave them, near the printed numbers or away from them."""

import dataclasses
from collections.abc import Mapping, Sequence

from fairground.papers import ExpectedRuns, PublishedRow
from fairground.records.record import RunRecord, Score
from fairground.spec import UNSAID, to_plain
from fairground.studies import JobResult, Selected, joined_record
from tests.records.factory import hashed, make_record

#: seeds scatter a little, symmetrically, so that their mean is what was asked for
SCATTER = (-1e-4, 0.0, 1e-4)


def with_changes(spec: Mapping[str, object], changes: Mapping[str, object]) -> dict:
    """A plain spec with some settings, by dotted name, changed."""
    changed = {key: dict(value) if isinstance(value, Mapping) else value for key, value in spec.items()}
    for dotted, value in changes.items():
        part, _, inner = dotted.partition(".")
        if inner:
            changed[part][inner] = value
        else:
            changed[part] = value if part in ("seed", "protocol") else None if value is None else {"name": value}
    return changed


_SPECS: dict[object, dict] = {}


def _plain_spec(found: ExpectedRuns, fold: int | None, settings: tuple) -> dict:
    key = (id(found), fold, settings)
    if key not in _SPECS:
        spec = found.job.spec(seed=0, fold=fold, settings=dict(settings), test=True, unsaid=UNSAID)
        _SPECS[key] = to_plain(spec)
    return _SPECS[key]


def record_of(
    found: ExpectedRuns,
    scores: Mapping[str, float],
    *,
    seed: int,
    fold: int | None = None,
    settings: Mapping[str, object] | None = None,
    best_epoch: int = 0,
    **changes: object,
) -> RunRecord:
    """A run of exactly a study's job, save for `changes` of its spec by dotted name."""
    spec = with_changes(_plain_spec(found, fold, tuple((settings or {}).items())), {**changes, "seed": seed})
    record = make_record(seed=seed)
    return dataclasses.replace(
        record,
        name=hashed(spec),
        method=hashed(spec | {"seed": 0}),
        spec=spec,
        best_epoch=best_epoch,
        scores=tuple(Score(metric=metric, split="test", value=value) for metric, value in scores.items()),
        search=found.procedure if settings is not None else None,
    )


def result_of(
    found: ExpectedRuns,
    rows: Sequence[PublishedRow],
    *,
    away: float = 0.0,
    settings: Mapping[str, object] | None = None,
    **changes: object,
) -> JobResult:
    """What a study knows of a job whose scores lie `away` from the printed numbers."""
    plain = [row for row in rows if row.unit == "percent"]
    epochs = next((row.value + 1 for row in rows if row.unit == "epoch"), 1.0)
    single = {row.metric: row.right_value / 100 + away for row in plain if row.setting != "concatenated"}
    joined = {row.metric: row.right_value / 100 + away for row in plain if row.setting == "concatenated"}
    folds = found.job.study.folds.used
    runs, ensembled = [], []
    for seed, shift in enumerate(SCATTER, start=1):
        scores = {metric: value + shift for metric, value in single.items()}
        best = max(0, round(epochs + 100 * away) + (seed - 2))
        given = {"seed": seed, "settings": settings, "best_epoch": best, **changes}
        repeat = [record_of(found, scores, fold=fold, **given) for fold in folds]
        runs += repeat
        if len(folds) > 1 and joined:
            result = {"scores": {m: v + shift for m, v in joined.items()}, "embedding_dim": 512}
            ensembled.append(joined_record(repeat, result))
    selected = Selected(settings=settings or {}, trial=0 if settings else None, score=0.5 if settings else None)
    return JobResult(job=found.job, trials=(), selected=selected, runs=tuple(runs), joined=tuple(ensembled))
