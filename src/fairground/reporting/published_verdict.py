"""Our runs beside a paper's number: reproduced, differs, or not comparable and why.

Formula
    ours       mean ± t(0.975, n - 1) * s / sqrt(n) over n repeats; a repeat is the mean of its folds, if any
    published  mean ± the printed half-width, or mean ± t(0.975, n - 1) * sd / sqrt(n - 1) for a population deviation sd
    differs    when the two intervals share no value
    reproduced when they do, and ours is narrow enough to show a difference of `resolution`
    Where the paper gives no spread or not over how many runs, the printed number is held against the interval in which
    one more run of ours would fall, mean ± t(0.975, n - 1) * s * sqrt(1 + 1/n): a mean of more runs lies nearer still.
    Untrained networks differ by how images are decoded and resized at least: that interval is never under `UNTRAINED`.

Our interval is that of this method's own repeats, not of the model that compares methods of a table: papers print
intervals of one method's runs, `fairground published` has one method alone, and whether a number is reproduced must not
depend on which other methods happen to stand on the page.

Two numbers are held against each other only if the runs have the spec of a study that makes the row
(`published_expected`). A verdict says what it rests on, so that a reader can doubt it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairground.comparison.intervals import LEVEL, Interval, t_interval
from fairground.errors import require
from fairground.papers.published import SPREADS, PublishedRow
from fairground.records.record import RunRecord
from fairground.reporting.headings import heading
from fairground.reporting.published_expected import differences, expected_runs, table_of
from fairground.spec.identity import canonical_json
from fairground.spec.settings import Value

Outcome = Literal["reproduced", "differs", "not comparable"]
#: half-width, as a share of 1, above which our own interval is too wide to call anything reproduced: one point
RESOLUTION = 0.01
#: by how much two libraries may differ on the same network and images, as a share of 1: half a point
UNTRAINED = 0.005


@dataclass(frozen=True, kw_only=True)
class PublishedVerdict:
    """What came of holding runs against a printed number. Intervals are shares of 1; missing ones could not be had."""

    outcome: Outcome
    sentence: str
    ours: Interval | None
    published: Interval | None


def verdict_of(
    records: Sequence[RunRecord],
    row: PublishedRow,
    *,
    resolution: float = RESOLUTION,
    known: Sequence[str] | None = None,
) -> PublishedVerdict:
    """Hold the repeats of one method against a printed number; `known` are its `obstacles`, if they were worked out."""
    require(len(records) > 0, "a verdict needs at least one run; got none")
    reasons = list(obstacles(records, row) if known is None else known)
    if not all(_value(record, row) is not None for record in records if record.state == "done"):
        reasons.append(f"not every run has a test score {row.metric}")
    if reasons:
        return _not_comparable(row, "; ".join(reasons))
    return verdict_on_values(_repeats(records, row), row, resolution=resolution)


def verdict_on_values(
    values: Sequence[float], row: PublishedRow, *, resolution: float = RESOLUTION
) -> PublishedVerdict:
    """Hold repeats' values, scores as shares of 1, against a printed number; whoever calls answers for the protocol."""
    require(len(values) > 0, "a verdict needs at least one value; got none")
    mean = t_interval(values)
    if row.unit == "setting":
        return _not_comparable(row, f"{row.metric} is no score", ours=mean)
    published, why = published_interval(row)
    scale = _scale(row)
    if published is None:
        ours, published = _next_run(mean, row), _rounded(row)
        printed = f"{scale * published.mean:g}"
        words = f"one more run of ours would be {_show(ours, scale)}, the paper prints {printed} ({why})"
    else:
        ours = mean
        words = (
            f"ours {_show(ours, scale)} over {ours.n} repeats, published {_show(published, scale)} over {published.n}"
        )
    if ours.half_width is None:
        return _not_comparable(row, "one run has no interval: run more seeds", ours=mean, published=published)
    caveat = " (the published number is the best epoch on the test set, an upper bound)" if _on_test(row) else ""
    finest = resolution if row.unit == "percent" else max(published.half_width or 0, 1.0)
    if not ours.overlaps(published):
        side = "above" if ours.mean > published.mean else "below"
        gap = f"{scale * abs(ours.mean - published.mean):.2f} {_unit_word(row)} {side}"
        outcome: Outcome = "differs"
        sentence = f"differs: {heading(row.metric)} is {gap}: {words}{caveat}"
    elif ours.half_width > finest:
        why = f"our interval is wider than ±{scale * finest:g} {_unit_word(row)} and would hide a difference: {words}"
        return _not_comparable(row, why, ours=mean, published=published)
    else:
        outcome = "reproduced"
        sentence = f"reproduced: the {100 * LEVEL:g} % intervals of {heading(row.metric)} overlap: {words}{caveat}"
    return PublishedVerdict(outcome=outcome, sentence=sentence, ours=mean, published=published)


def _next_run(mean: Interval, row: PublishedRow) -> Interval:
    """Return where one more run like ours would fall; without training there is little to scatter."""
    least = UNTRAINED if row.setting == "untrained" else None
    half = least if mean.half_width is None else max(mean.half_width * math.sqrt(mean.n + 1), least or 0.0)
    if half is None:
        return mean
    return Interval(mean=mean.mean, low=mean.mean - half, high=mean.mean + half, n=mean.n, level=LEVEL, kind="t")


def _rounded(row: PublishedRow) -> Interval:
    """Return the printed number with what rounding may have taken."""
    digits = len(row.printed.partition(" ")[0].partition(".")[2]) if row.corrected is None else 2
    mean, half = row.right_value / _scale(row), 0.5 * 10.0**-digits / _scale(row)
    return Interval(mean=mean, low=mean - half, high=mean + half, n=1, level=LEVEL, kind="t")


def _scale(row: PublishedRow) -> float:
    """Return how many of the row's units make one of ours: scores are printed per cent."""
    return 100.0 if row.unit == "percent" else 1.0


def _unit_word(row: PublishedRow) -> str:
    return "points" if row.unit == "percent" else "epochs"


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


def published_interval(row: PublishedRow) -> tuple[Interval | None, str]:
    """Return the printed mean with its 95 % interval, or nothing and why there is none."""
    if row.spread is None:
        return None, "the paper prints no spread"
    spread = SPREADS[row.spread_meaning]
    if spread.n is None:
        return None, "the paper does not say over how many runs its spread is"
    if row.spread == 0:
        return None, "the printed spread of 0 cannot be that of several runs"
    mean, half = row.right_value / _scale(row), row.spread / _scale(row)
    if spread.kind == "population deviation":
        # Imported here, and not scipy.stats: that takes longer to import than most commands take to run.
        from scipy.special import stdtrit

        half *= float(stdtrit(spread.n - 1, (1 + LEVEL) / 2)) / math.sqrt(spread.n - 1)
    return Interval(mean=mean, low=mean - half, high=mean + half, n=spread.n, level=LEVEL, kind="t"), ""


def obstacles(records: Sequence[RunRecord], row: PublishedRow) -> Iterator[str]:
    """Yield every reason why the runs must not be held against a row, the same for all metrics of its method."""
    if not expected_runs(row):
        yield table_of(row).reason or "the row is not a method that can be run here by its name"
        return
    n_unfinished = sum(record.state != "done" for record in records)
    if n_unfinished:
        yield f"{n_unfinished} of {len(records)} runs did not finish"
    if len(repeats_of(records)) > 1:
        yield "the runs differ in more than seed and fold"
    yield from differences(records[0], row)
    yield from _fold_obstacles(records, row)


def _fold_obstacles(records: Sequence[RunRecord], row: PublishedRow) -> Iterator[str]:
    is_joined = "ensemble" in records[0].spec
    if is_joined != (row.setting == "concatenated"):
        yield (
            "the runs join the embeddings of several models, and the row has those of one"
            if is_joined
            else "the row joins the embeddings of four models, and a run has those of one"
        )
    elif row.setting == "separated":
        wanted = _n_folds(records[0])
        folds: dict[Value, set[Value]] = {}
        for record in records:
            folds.setdefault(record.spec.get("seed"), set()).add(_split(record).get("fold"))
        short = [seed for seed, there in folds.items() if len(there - {None}) != wanted]
        if short:
            yield f"a repeat is the mean of {wanted} folds, and seed {short[0]} has {len(folds[short[0]] - {None})}"


def _split(record: RunRecord) -> Mapping[str, Value]:
    split = record.spec.get("split")
    return split if isinstance(split, Mapping) else {}


def _n_folds(record: RunRecord) -> int:
    n_folds = _split(record).get("n_folds")
    return n_folds if isinstance(n_folds, int) and n_folds > 0 else 4


def _repeats(records: Sequence[RunRecord], row: PublishedRow) -> list[float]:
    """Return one value for each seed: the mean over its folds. A run that is given twice counts once."""
    by_seed: dict[Value, list[float]] = {}
    for record in {record.name: record for record in records}.values():
        value = _value(record, row)
        assert value is not None
        by_seed.setdefault(record.spec.get("seed"), []).append(value)
    return [math.fsum(values) / len(values) for values in by_seed.values()]


def _value(record: RunRecord, row: PublishedRow) -> float | None:
    """Return what a run has to set against the row: a test score as a share of 1, or its best epoch, counted from 0."""
    if row.unit == "epoch":
        return None if record.best_epoch is None else float(record.best_epoch)
    found = record.score(row.metric)
    # Precision@1 and recall@1 are one number under two names.
    alias = {"precision@1": "recall@1", "recall@1": "precision@1"}.get(row.metric)
    return record.score(alias) if found is None and alias is not None else found


def _without_seed_and_fold(spec: Mapping[str, Value]) -> dict[str, Any]:
    plain: dict[str, Any] = {key: value for key, value in spec.items() if key != "seed"}
    split = plain.get("split")
    if isinstance(split, Mapping):
        plain["split"] = {key: value for key, value in split.items() if key != "fold"}
    return plain


def _on_test(row: PublishedRow) -> bool:
    return table_of(row).selected_on == "test"


def _not_comparable(
    row: PublishedRow, why: str, *, ours: Interval | None = None, published: Interval | None = None
) -> PublishedVerdict:
    sentence = f"not comparable with {row.table_name}, {row.row}: {why}"
    return PublishedVerdict(outcome="not comparable", sentence=sentence, ours=ours, published=published)


def _show(interval: Interval, scale: float) -> str:
    half = "" if interval.half_width is None else f" ± {scale * interval.half_width:.2f}"
    return f"{scale * interval.mean:.2f}{half}"
