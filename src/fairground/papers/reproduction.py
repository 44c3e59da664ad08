"""Our runs beside a paper's number: reproduced, differs, or not comparable and why.

Formula
    ours       mean ± t(0.975, n - 1) * s / sqrt(n) over n repeats; a repeat is the mean of its folds, if any
    published  mean ± the printed half-width, or mean ± t(0.975, n - 1) * sd / sqrt(n - 1) for a population deviation sd
    differs    when the two intervals share no value
    reproduced when they do, and ours is narrow enough to show a difference of `resolution`
    Where the paper gives no spread, or not over how many runs, the printed number is compared with the prediction
    interval of one more run of ours, mean ± t(0.975, n - 1) * s * sqrt(1 + 1/n): a mean of more runs is nearer still.
    Untrained networks differ at least by how images are decoded and resized: that interval is never under `UNTRAINED`.

Our interval is that of this method's own repeats, not of the model that compares the methods of a table: papers print
intervals of one method's runs, and whether a number is reproduced must not depend on the other methods of a page.

Two numbers are compared only if the runs have the spec of a study that makes the row (`expected_runs`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from fairground.comparison.intervals import LEVEL, Interval, t_interval
from fairground.errors import require
from fairground.papers.expected_runs import Mismatch, ensemble_protocol, expected_runs, mismatches, table_of
from fairground.papers.published import SPREADS, PublishedRow, published_rows
from fairground.records.record import RunRecord
from fairground.spec.identity import canonical_json
from fairground.spec.measurement_names import declared_metric
from fairground.spec.settings import Value

Outcome = Literal["reproduced", "differs", "not comparable"]
#: why runs must not be compared with a row: a setting, or anything else as a sentence
Obstacle = Mismatch | str
#: half-width, as a share of 1, above which our own interval is too wide to call anything reproduced: one point
RESOLUTION = 0.01
#: by how much two libraries may differ on the same network and images, as a share of 1: half a point
UNTRAINED = 0.005


@dataclass(frozen=True, kw_only=True)
class PublishedVerdict:
    """What comparing runs with a printed number found. Intervals are shares of 1, None where they do not exist."""

    outcome: Outcome
    sentence: str
    ours: Interval | None
    published: Interval | None


@dataclass(frozen=True, kw_only=True)
class PublishedComparison:
    """One printed number with our verdict on it, as shown."""

    label: str
    table: str
    row: str
    metric: str
    printed: str
    ours: str
    outcome: Outcome
    sentence: str


def compare_with_published(
    groups: Iterable[Sequence[RunRecord]], labels: Mapping[str, str]
) -> list[PublishedComparison]:
    """Return a line for every printed number of the protocol and loss of each method's runs, grouped by `repeats_of`.

    `labels` names methods by run.
    """
    found: list[PublishedComparison] = []
    for group in groups:
        label = labels.get(group[0].name, _loss_of(group[0]))
        found += [_line(label, row, verdict) for row, verdict in _nearest_verdicts(group, rows_for(group[0]))]
    order = {"differs": 0, "reproduced": 1, "not comparable": 2}
    return sorted(found, key=lambda line: order[line.outcome])


def rows_for(record: RunRecord) -> list[PublishedRow]:
    """Return the printed numbers of the protocol and loss of a run."""
    protocol, is_joined = str(record.spec.get("protocol")), "ensemble" in record.spec
    return _rows_for(protocol, None if record.is_untrained else _loss_of(record), is_joined)


@lru_cache(maxsize=256)
def _rows_for(protocol: str, loss: str | None, is_joined: bool) -> list[PublishedRow]:
    """Return the rows of a protocol and a loss, None where nothing is trained; many methods of a page share them."""
    return [
        row
        for row in published_rows()
        if protocol in (row.protocol, ensemble_protocol(row.protocol))
        and (row.setting == "untrained" if loss is None else row.loss == loss)
        and is_joined == (row.setting == "concatenated")
        and expected_runs(row)
    ]


def _loss_of(record: RunRecord) -> str:
    loss = record.spec.get("loss")
    return str(loss.get("name")) if isinstance(loss, Mapping) else "?"


def _nearest_verdicts(
    group: Sequence[RunRecord], rows: Sequence[PublishedRow]
) -> list[tuple[PublishedRow, PublishedVerdict]]:
    """Return the verdicts on rows that fit; where none does, that on the nearest one."""

    def method_of(row: PublishedRow) -> tuple[object, ...]:
        return row.table_name, row.method, row.dataset, row.network, row.embedding_dim, row.setting

    # Obstacles are the same for all metrics of a method.
    methods = {method_of(row): row for row in rows}
    known = {method: list(obstacles(group, row)) for method, row in methods.items()}
    verdicts = [(row, verdict_of(group, row, known=known[method_of(row)])) for row in rows]
    fitting = [(row, verdict) for row, verdict in verdicts if verdict.outcome != "not comparable"]

    def distance(row: PublishedRow) -> tuple[int, int]:
        found = known[method_of(row)]
        return len(found), sum(isinstance(one, str) or one.is_component for one in found)

    return fitting or sorted(verdicts, key=lambda pair: distance(pair[0]))[:1]


def _line(label: str, row: PublishedRow, verdict: PublishedVerdict) -> PublishedComparison:
    return PublishedComparison(
        label=label,
        table=row.table_name,
        row=row.row,
        metric=_title(row),
        printed=row.printed,
        ours="-" if verdict.ours is None else _show(verdict.ours, _scale(row)),
        outcome=verdict.outcome,
        sentence=verdict.sentence,
    )


def verdict_of(
    records: Sequence[RunRecord],
    row: PublishedRow,
    *,
    resolution: float = RESOLUTION,
    known: Sequence[Obstacle] | None = None,
) -> PublishedVerdict:
    """Compare the repeats of one method with a printed number; `known` are its `obstacles`, if already computed."""
    require(len(records) > 0, "a verdict needs at least one run; got none")
    reasons = list(obstacles(records, row) if known is None else known)
    if not all(_value(record, row) is not None for record in records if record.state == "done"):
        reasons.append(f"not every run has a test score {row.metric}")
    if reasons:
        return _not_comparable(row, "; ".join(map(str, reasons)))
    return verdict_on_values(_repeats(records, row), row, resolution=resolution)


def verdict_on_values(
    values: Sequence[float], row: PublishedRow, *, resolution: float = RESOLUTION
) -> PublishedVerdict:
    """Compare repeats' values, scores as shares of 1, with a printed number; the protocol is not checked."""
    require(len(values) > 0, "a verdict needs at least one value; got none")
    mean = t_interval(values)
    if row.unit == "setting":
        return _not_comparable(row, f"{row.metric} is not a score", ours=mean)
    published, why = published_interval(row)
    scale = _scale(row)
    if published is None:
        ours, published = _next_run(mean, row), _rounded(row)
        printed = f"{scale * published.mean:g}"
        numbers = f"one more run of ours would be {_show(ours, scale)}, the paper prints {printed} ({why})"
    else:
        ours = mean
        numbers = (
            f"ours {_show(ours, scale)} over {ours.n} repeats, published {_show(published, scale)} over {published.n}"
        )
    if ours.half_width is None:
        return _not_comparable(row, "one run has no interval: run more seeds", ours=mean, published=published)
    is_on_test = table_of(row).selected_on == "test"
    caveat = " (the published number is the best epoch on the test set, an upper bound)" if is_on_test else ""
    finest = resolution if row.unit == "percent" else max(published.half_width or 0, 1.0)
    unit = "points" if row.unit == "percent" else "epochs"
    if not ours.overlaps(published):
        side = "above" if ours.mean > published.mean else "below"
        gap = f"{scale * abs(ours.mean - published.mean):.2f} {unit} {side}"
        outcome: Outcome = "differs"
        sentence = f"differs: {_title(row)} is {gap}: {numbers}{caveat}"
    elif ours.half_width > finest:
        why = f"our interval is wider than ±{scale * finest:g} {unit} and would hide a difference: {numbers}"
        return _not_comparable(row, why, ours=mean, published=published)
    else:
        outcome = "reproduced"
        sentence = f"reproduced: the {100 * LEVEL:g} % intervals of {_title(row)} overlap: {numbers}{caveat}"
    return PublishedVerdict(outcome=outcome, sentence=sentence, ours=mean, published=published)


def published_interval(row: PublishedRow) -> tuple[Interval | None, str]:
    """Return the printed mean with its 95 % interval, or None and why there is none."""
    if row.spread is None:
        return None, "the paper prints no spread"
    spread = SPREADS[row.spread_meaning]
    if spread.n is None:
        return None, "the paper does not say over how many runs its spread is"
    if row.spread == 0:
        return None, "the printed spread of 0 cannot be that of several runs"
    half = row.spread / _scale(row)
    if spread.kind == "population deviation":
        # scipy.stats takes longer to import than most commands take to run.
        from scipy.special import stdtrit

        half *= float(stdtrit(spread.n - 1, (1 + LEVEL) / 2)) / math.sqrt(spread.n - 1)
    return _around(row.right_value / _scale(row), half, spread.n), ""


def _next_run(mean: Interval, row: PublishedRow) -> Interval:
    """Return the prediction interval of one more run like ours; untrained networks scatter little."""
    least = UNTRAINED if row.setting == "untrained" else None
    half = least if mean.half_width is None else max(mean.half_width * math.sqrt(mean.n + 1), least or 0.0)
    return mean if half is None else _around(mean.mean, half, mean.n)


def _rounded(row: PublishedRow) -> Interval:
    """Return the printed number with what rounding may have removed."""
    digits = len(row.printed.partition(" ")[0].partition(".")[2]) if row.corrected is None else 2
    return _around(row.right_value / _scale(row), 0.5 * 10.0**-digits / _scale(row), 1)


def _around(mean: float, half: float, n: int) -> Interval:
    return Interval(mean=mean, low=mean - half, high=mean + half, n=n, level=LEVEL, kind="t")


def _scale(row: PublishedRow) -> float:
    """Return the row's unit over ours: scores are printed in per cent."""
    return 100.0 if row.unit == "percent" else 1.0


def _title(row: PublishedRow) -> str:
    declared = declared_metric(row.metric)
    return row.metric if declared is None else declared.title


def _show(interval: Interval, scale: float) -> str:
    half = "" if interval.half_width is None else f" ± {scale * interval.half_width:.2f}"
    return f"{scale * interval.mean:.2f}{half}"


def _not_comparable(
    row: PublishedRow, why: str, *, ours: Interval | None = None, published: Interval | None = None
) -> PublishedVerdict:
    sentence = f"not comparable with {row.table_name}, {row.row}: {why}"
    return PublishedVerdict(outcome="not comparable", sentence=sentence, ours=ours, published=published)


def repeats_of(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """Group runs that differ in nothing but seed and fold, in the order of first appearance."""
    groups: dict[str, list[RunRecord]] = {}
    known: dict[bytes, str] = {}
    for record in records:
        text = record.text_without_seed
        if text not in known:
            known[text] = canonical_json(_without_seed_and_fold(record.spec))
        groups.setdefault(known[text], []).append(record)
    return list(groups.values())


def _without_seed_and_fold(spec: Mapping[str, Value]) -> dict[str, Any]:
    plain: dict[str, Any] = {key: value for key, value in spec.items() if key != "seed"}
    split = plain.get("split")
    if isinstance(split, Mapping):
        plain["split"] = {key: value for key, value in split.items() if key != "fold"}
    return plain


def obstacles(records: Sequence[RunRecord], row: PublishedRow) -> Iterator[Obstacle]:
    """Yield every reason why the runs must not be compared with a row, the same for all metrics of its method."""
    if not expected_runs(row):
        yield table_of(row).reason or "the row is not a method that can be run here by its name"
        return
    n_unfinished = sum(record.state != "done" for record in records)
    if n_unfinished:
        yield f"{n_unfinished} of {len(records)} runs did not finish"
    if len(repeats_of(records)) > 1:
        yield "the runs differ in more than seed and fold"
    yield from mismatches(records[0], row)
    is_joined = "ensemble" in records[0].spec
    if is_joined != (row.setting == "concatenated"):
        yield (
            "the runs join the embeddings of several models, and the row has those of one"
            if is_joined
            else "the row joins the embeddings of four models, and a run has those of one"
        )
    elif row.setting == "separated":
        n_folds = _split(records[0]).get("n_folds")
        wanted = n_folds if isinstance(n_folds, int) and n_folds > 0 else 4
        folds: dict[Value, set[Value]] = {}
        for record in records:
            folds.setdefault(record.spec.get("seed"), set()).add(_split(record).get("fold"))
        short = [seed for seed, there in folds.items() if len(there - {None}) != wanted]
        if short:
            yield f"a repeat is the mean of {wanted} folds, and seed {short[0]} has {len(folds[short[0]] - {None})}"


def _split(record: RunRecord) -> Mapping[str, Value]:
    split = record.spec.get("split")
    return split if isinstance(split, Mapping) else {}


def _repeats(records: Sequence[RunRecord], row: PublishedRow) -> list[float]:
    """Return one value per seed: the mean over its folds. A run that is given twice counts once."""
    by_seed: dict[Value, list[float]] = {}
    for record in {record.name: record for record in records}.values():
        value = _value(record, row)
        assert value is not None
        by_seed.setdefault(record.spec.get("seed"), []).append(value)
    return [math.fsum(values) / len(values) for values in by_seed.values()]


def _value(record: RunRecord, row: PublishedRow) -> float | None:
    """Return what a run has for the row: a test score as a share of 1, or its best epoch, counted from 0."""
    if row.unit == "epoch":
        return None if record.best_epoch is None else float(record.best_epoch)
    found = record.score(row.metric)
    # Precision@1 and recall@1 are one number under two names.
    alias = {"precision@1": "recall@1", "recall@1": "precision@1"}.get(row.metric)
    return record.score(alias) if found is None and alias is not None else found
