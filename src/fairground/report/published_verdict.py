"""Our runs beside a paper's number: reproduced, differs, or not comparable and why.

Formula
    ours       mean ± t(0.975, n - 1) * s / sqrt(n) over n repeats; a repeat is the mean of its folds, if any
    published  mean ± the printed half-width, or mean ± t(0.975, n - 1) * sd / sqrt(n - 1) for a population deviation sd
    differs    when the two intervals share no value
    reproduced when they do, and ours is narrow enough to have told a difference of `resolution`

Two numbers are held against each other only if the runs followed the row's protocol with the row's method, network and
dimension. A verdict says what it rests on, so that a reader can doubt it.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairground.errors import require
from fairground.records.published import SPREADS, PublishedRow, published_tables
from fairground.records.record import RunRecord
from fairground.report.headings import heading
from fairground.spec.identity import canonical_json
from fairground.spec.presets import preset_settings, presets
from fairground.spec.settings import Value
from fairground.statistics.intervals import LEVEL, Interval, t_interval

Outcome = Literal["reproduced", "differs", "not comparable"]
#: half-width, as a share of 1, above which our own interval is too wide to call anything reproduced: one point
RESOLUTION = 0.01


@dataclass(frozen=True, kw_only=True)
class PublishedVerdict:
    """What came of holding runs against a printed number. Intervals are shares of 1; missing ones could not be had."""

    outcome: Outcome
    sentence: str
    ours: Interval | None
    published: Interval | None


def verdict_of(records: Sequence[RunRecord], row: PublishedRow, *, resolution: float = RESOLUTION) -> PublishedVerdict:
    """Hold the repeats of one method against a printed number."""
    require(len(records) > 0, "a verdict needs at least one run; got none")
    reasons = list(_obstacles(records, row))
    if reasons:
        return _not_comparable(row, "; ".join(reasons))
    return verdict_on_values(_repeats(records, row), row, resolution=resolution)


def verdict_on_values(
    values: Sequence[float], row: PublishedRow, *, resolution: float = RESOLUTION
) -> PublishedVerdict:
    """Hold repeats' scores, as shares of 1, against a printed number; whoever calls answers for the protocol."""
    require(len(values) > 0, "a verdict needs at least one value; got none")
    ours = t_interval(values)
    if row.unit != "percent":
        return _not_comparable(row, f"{row.metric} is no score", ours=ours)
    published, why = published_interval(row)
    if published is None:
        return _not_comparable(row, why, ours=ours)
    if ours.half_width is None:
        return _not_comparable(row, "one run has no interval: run more seeds", ours=ours, published=published)
    words = f"ours {_show(ours)} over {ours.n} repeats, published {_show(published)} over {published.n}"
    caveat = " (the published number is the best epoch on the test set, an upper bound)" if _on_test(row) else ""
    if not ours.overlaps(published):
        side = "above" if ours.mean > published.mean else "below"
        gap = f"{100 * abs(ours.mean - published.mean):.2f} points {side}"
        return PublishedVerdict(
            outcome="differs",
            sentence=f"differs: {heading(row.metric)} is {gap}: {words}{caveat}",
            ours=ours,
            published=published,
        )
    if ours.half_width > resolution:
        why = f"our interval is wider than ±{100 * resolution:g} points and would hide a difference: {words}"
        return _not_comparable(row, why, ours=ours, published=published)
    sentence = f"reproduced: the {100 * LEVEL:g} % intervals of {heading(row.metric)} overlap: {words}{caveat}"
    return PublishedVerdict(outcome="reproduced", sentence=sentence, ours=ours, published=published)


def repeats_of(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """Group runs that differ in nothing but seed and fold, in the order of first appearance."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(canonical_json(_without_seed_and_fold(record.spec)), []).append(record)
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
    mean, half = row.right_value / 100, row.spread / 100
    if spread.kind == "population deviation":
        # Imported here, and not scipy.stats: that takes longer to import than most commands take to run.
        from scipy.special import stdtrit

        half *= float(stdtrit(spread.n - 1, (1 + LEVEL) / 2)) / math.sqrt(spread.n - 1)
    return Interval(mean=mean, low=mean - half, high=mean + half, n=spread.n, level=LEVEL, kind="t"), ""


def _obstacles(records: Sequence[RunRecord], row: PublishedRow) -> Iterator[str]:
    """Yield every reason why the runs must not be held against the row."""
    if not row.preset:
        yield "the row is not a method that can be run here by its name"
        return
    n_unfinished = sum(record.state != "done" for record in records)
    if n_unfinished:
        yield f"{n_unfinished} of {len(records)} runs did not finish"
    if len(repeats_of(records)) > 1:
        yield "the runs differ in more than seed and fold"
    spec = records[0].spec
    if spec.get("protocol") != row.protocol:
        yield f"the runs follow the protocol {spec.get('protocol')}, the row {row.protocol}"
    yield from _differences(spec, row)
    if not all(_score(record, row.metric) is not None for record in records if record.state == "done"):
        yield f"not every run has a test score {row.metric}"
    yield from _fold_obstacles(records, row)


def _differences(spec: Mapping[str, Value], row: PublishedRow) -> Iterator[str]:
    """Yield the settings in which a run is not the row's method; a preset of the code as run is as good."""
    shared: dict[str, Value] = {"data": row.dataset, "trunk": row.network}
    if row.setting != "concatenated":
        shared["head.embedding_dim"] = row.embedding_dim
    said = [word.partition("=") for word in row.setting.split() if "=" in word]
    overrides: dict[str, Value] = {key: int(text) if text.isdigit() else text for key, _, text in said}
    choices = [row.preset, row.preset.replace("roth-", "roth-as-run-")]
    found: list[list[str]] = []
    for choice in [word for word in choices if word in presets(row.loss)]:
        wanted = preset_settings(row.loss, choice)
        if "sampler" in overrides:
            wanted = {key: value for key, value in wanted.items() if not key.startswith("sampler")}
        expected = {"loss": row.loss, **shared, **wanted, **overrides}
        found.append([_said(key, value, spec) for key, value in expected.items() if _setting(spec, key) != value])
    yield from min(found, key=len)


def _said(key: str, wanted: Value, spec: Mapping[str, Value]) -> str:
    words = ["none" if value is None else str(value) for value in (_setting(spec, key), wanted)]
    return f"{key} is {words[0]}, the row's is {words[1]}"


def _setting(spec: Mapping[str, Value], dotted: str) -> Value:
    """Return a setting of a spec by its dotted name; a part by itself is its component's name."""
    key, _, inner = dotted.partition(".")
    part = spec.get(key)
    return part.get(inner or "name") if isinstance(part, Mapping) else (part if not inner else None)


def _fold_obstacles(records: Sequence[RunRecord], row: PublishedRow) -> Iterator[str]:
    if row.setting == "concatenated":
        yield "the row joins the embeddings of four models, and a run has those of one"
    elif row.setting == "separated":
        wanted = _setting(records[0].spec, "split.n_folds") or 4
        folds: dict[Value, set[Value]] = {}
        for record in records:
            folds.setdefault(record.spec.get("seed"), set()).add(_setting(record.spec, "split.fold"))
        short = [seed for seed, there in folds.items() if len(there - {None}) != wanted]
        if short:
            yield f"a repeat is the mean of {wanted} folds, and seed {short[0]} has {len(folds[short[0]] - {None})}"


def _repeats(records: Sequence[RunRecord], row: PublishedRow) -> list[float]:
    """Return one value for each seed: the mean over its folds. A run that is given twice counts once."""
    by_seed: dict[Value, list[float]] = {}
    for record in {record.name: record for record in records}.values():
        score = _score(record, row.metric)
        assert score is not None
        by_seed.setdefault(record.spec.get("seed"), []).append(score)
    return [math.fsum(values) / len(values) for values in by_seed.values()]


def _score(record: RunRecord, metric: str) -> float | None:
    found = record.score(metric)
    # Precision@1 and recall@1 are one number under two names.
    alias = {"precision@1": "recall@1", "recall@1": "precision@1"}.get(metric)
    return record.score(alias) if found is None and alias is not None else found


def _without_seed_and_fold(spec: Mapping[str, Value]) -> dict[str, Any]:
    plain: dict[str, Any] = {key: value for key, value in spec.items() if key != "seed"}
    split = plain.get("split")
    if isinstance(split, Mapping):
        plain["split"] = {key: value for key, value in split.items() if key != "fold"}
    return plain


def _on_test(row: PublishedRow) -> bool:
    return any(table.name == row.table_name and table.selected_on == "test" for table in published_tables())


def _not_comparable(
    row: PublishedRow, why: str, *, ours: Interval | None = None, published: Interval | None = None
) -> PublishedVerdict:
    sentence = f"not comparable with {row.table_name}, {row.row}: {why}"
    return PublishedVerdict(outcome="not comparable", sentence=sentence, ours=ours, published=published)


def _show(interval: Interval) -> str:
    assert interval.half_width is not None
    return f"{100 * interval.mean:.2f} ± {100 * interval.half_width:.2f}"
