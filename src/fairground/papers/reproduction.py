"""Our runs beside a paper's number: reproduced, contradicted by another, differs, or not comparable and why.

Formula
    ours       mean ± t(0.975, n - 1) * s / sqrt(n) over n repeats; a repeat is the mean of its folds, if any
    published  mean ± the printed half-width, or mean ± t(0.975, n - 1) * sd / sqrt(n - 1) for a population deviation sd
    differs    when the two intervals share no value
    reproduced when they do, and ours is narrow enough to show a difference of `resolution`
    Where the paper gives no spread, or not over how many runs, the printed number is compared with the prediction
    interval of one more run of ours, mean ± t(0.975, n - 1) * s * sqrt(1 + 1/n): a mean of more runs is nearer still.
    Untrained networks differ at least by how images are decoded and resized: that interval is never under `UNTRAINED`.
    contradicted when the two share no value, but the paper prints another number for the same runs (E64), and ours has
    values in common with that one

Our interval is that of this method's own repeats, as papers print them, whatever other methods are on a page. Two
numbers are compared only if the runs have the spec of a study that makes the row (`expected_runs`).
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from operator import attrgetter
from typing import Literal, NamedTuple

from fairground.comparison.comparison_result import LEVEL, Interval, t_interval
from fairground.papers.expected_runs import Mismatch, ensemble_protocol, expected_runs, mismatches, table_of
from fairground.papers.published_numbers import SPREADS, PublishedRow, printed_elsewhere, published_rows
from fairground.records import RunRecord, grouped, one_of_each_spec
from fairground.spec import hash_of, without_fold

Outcome = Literal["reproduced", "contradicted", "differs", "not comparable"]
#: why runs must not be compared with a row: a setting, or anything else as a sentence
Obstacle = Mismatch | str
#: half-width, as a share of 1, above which our own interval is too wide to call anything reproduced: one point
RESOLUTION = 0.01
#: by how much two libraries may differ on the same network and images, as a share of 1: half a point
UNTRAINED = 0.005


class PublishedVerdict(NamedTuple):
    """What comparing runs with a printed number found. Intervals are shares of 1, None where they do not exist."""

    row: PublishedRow
    outcome: Outcome
    sentence: str
    ours: Interval | None = None
    published: Interval | None = None

    @property
    def shown(self) -> str:
        return "-" if self.ours is None else _show(self.ours, self.row)


def compare_with_published(
    groups: Iterable[Sequence[RunRecord]], labels: Mapping[str, str]
) -> list[tuple[str, PublishedVerdict]]:
    """Return a verdict on every printed number of the protocol and loss of each method's runs, with the method's name.

    The runs are grouped by `repeats_of`; `labels` names methods by run. Where no printed number fits, the verdict is
    on the nearest one.
    """
    found = []
    for group in groups:
        label = labels.get(group[0].name, group[0].setting("loss"))
        same = attrgetter("table_name", "method", "dataset", "network", "embedding_dim", "setting")
        verdicts = []
        for rows in grouped((same(row), row) for row in rows_for(group[0])).values():
            # The same for all metrics of a method.
            known = list(obstacles(group, rows[0]))
            distance = len(known), sum(isinstance(one, str) or "." not in one.setting for one in known)
            verdicts += [(distance, _verdict(group, row, known)) for row in rows]
        fitting = [verdict for _, verdict in verdicts if verdict.outcome != "not comparable"]
        nearest = [verdict for _, verdict in sorted(verdicts, key=lambda pair: pair[0])[:1]]
        found += [(label, verdict) for verdict in fitting or nearest]
    order = {"differs": 0, "contradicted": 1, "reproduced": 2, "not comparable": 3}
    return sorted(found, key=lambda line: order[line[1].outcome])


def rows_for(record: RunRecord) -> tuple[PublishedRow, ...]:
    loss = "" if record.is_untrained else str(record.setting("loss"))
    return _rows_for(record.spec.get("protocol"), loss, is_joined="ensemble" in record.spec)


@cache
def _rows_for(protocol: str | None, loss: str, *, is_joined: bool) -> tuple[PublishedRow, ...]:
    """Return the numbers for a loss, or for an untrained network where it is empty."""
    return tuple(
        row
        for row in published_rows()
        if (row.loss == loss if loss else row.setting == "untrained")
        and protocol in (row.protocol, ensemble_protocol(row.protocol))
        and is_joined == (row.setting == "concatenated")
        and expected_runs(row)
    )


def verdict_of(records: Sequence[RunRecord], row: PublishedRow) -> PublishedVerdict:
    return _verdict(records, row, obstacles(records, row))


def _verdict(records: Sequence[RunRecord], row: PublishedRow, known: Iterable[Obstacle]) -> PublishedVerdict:
    reasons = [str(one) for one in known]
    # A run that is given twice counts once.
    values = {record.name: (record, _value(record, row)) for record in records}.values()
    if any(value is None and record.state == "done" for record, value in values):
        reasons.append(f"not every run has a test score {row.metric}")
    if reasons:
        return _not_comparable(row, "; ".join(dict.fromkeys(reasons)))
    by_seed = grouped((record.spec.get("seed"), value) for record, value in values if value is not None)
    return verdict_on_values([math.fsum(some) / len(some) for some in by_seed.values()], row)


def verdict_on_values(
    values: Sequence[float], row: PublishedRow, *, resolution: float = RESOLUTION
) -> PublishedVerdict:
    """Compare repeats' values, scores as shares of 1, with a printed number; the protocol is not checked."""
    mean = t_interval(values)
    if row.unit == "setting":
        return _not_comparable(row, f"{row.metric} is not a score", ours=mean)
    ours, published, numbers = _compared(mean, row)
    if ours.half_width is None:
        return _not_comparable(row, "one run has no interval: run more seeds", ours=mean, published=published)
    is_on_test = table_of(row).selected_on == "test"
    caveat = " (the published number is the best epoch on the test set, an upper bound)" if is_on_test else ""
    for other in printed_elsewhere(row):
        numbers += f"; for this very setting {other.table_name} prints {other.printed} (E64)"
    finest = resolution if row.unit == "percent" else max(published.half_width or 0, 1.0)
    unit = "points" if row.unit == "percent" else "epochs"
    if not ours.overlaps(published):
        side = "above" if ours.mean > published.mean else "below"
        gap = f"{row.scale * abs(ours.mean - published.mean):.2f} {unit} {side}"
        outcome: Outcome = "differs"
        for other in printed_elsewhere(row):
            here, there, _ = _compared(mean, other)
            outcome = "contradicted" if here.overlaps(there) else outcome
        by_whom = ", and the paper's other number for it agrees with ours" if outcome == "contradicted" else ""
        sentence = f"{outcome}: {row.title} is {gap}{by_whom}: {numbers}{caveat}"
    elif ours.half_width > finest:
        why = f"our interval is wider than ±{row.scale * finest:g} {unit} and would hide a difference: {numbers}"
        return _not_comparable(row, why, ours=mean, published=published)
    else:
        outcome = "reproduced"
        sentence = f"reproduced: the {100 * LEVEL:g} % intervals of {row.title} overlap: {numbers}{caveat}"
    return PublishedVerdict(row=row, outcome=outcome, sentence=sentence, ours=mean, published=published)


def _compared(mean: Interval, row: PublishedRow) -> tuple[Interval, Interval, str]:
    """Return our interval and the published one as they are compared, and both in words."""
    published, why = published_interval(row)
    if published is not None:
        theirs = f"published {_show(published, row)} over {published.n}"
        return mean, published, f"ours {_show(mean, row)} over {mean.n} repeats, {theirs}"
    # The prediction interval of one more run like ours; untrained networks scatter little.
    least = UNTRAINED if row.setting == "untrained" else None
    half = least if mean.half_width is None else max(mean.half_width * math.sqrt(mean.n + 1), least or 0.0)
    digits = len(row.printed.partition(" ")[0].partition(".")[2]) if row.corrected is None else 2
    ours = mean if half is None else _around(mean.mean, half, mean.n)
    printed = _around(row.right_value / row.scale, 0.5 * 10.0**-digits / row.scale, 1)
    theirs = f"the paper prints {row.scale * printed.mean:g} ({why})"
    return ours, printed, f"one more run of ours would be {_show(ours, row)}, {theirs}"


def published_interval(row: PublishedRow) -> tuple[Interval | None, str]:
    """Return the printed mean with its 95 % interval, or None and why there is none."""
    if row.spread is None:
        return None, "the paper prints no spread"
    spread = SPREADS[row.spread_meaning]
    if spread.n is None:
        return None, "the paper does not say over how many runs its spread is"
    if row.spread == 0:
        return None, "the printed spread of 0 cannot be that of several runs"
    half = row.spread / row.scale
    if spread.kind == "population deviation":
        # scipy.stats takes longer to import than most commands take to run.
        from scipy.special import stdtrit

        half *= float(stdtrit(spread.n - 1, (1 + LEVEL) / 2)) / math.sqrt(spread.n - 1)
    return _around(row.right_value / row.scale, half, spread.n), ""


def _around(mean: float, half: float, n: int) -> Interval:
    return Interval(mean=mean, low=mean - half, high=mean + half, n=n)


def _show(interval: Interval, row: PublishedRow) -> str:
    half = "" if interval.half_width is None else f" ± {row.scale * interval.half_width:.2f}"
    return f"{row.scale * interval.mean:.2f}{half}"


def _not_comparable(row: PublishedRow, why: str, **intervals: Interval | None) -> PublishedVerdict:
    sentence = f"not comparable with {row.table_name}, {row.row}: {why}"
    return PublishedVerdict(row=row, outcome="not comparable", sentence=sentence, **intervals)


def repeats_of(records: Iterable[RunRecord]) -> list[list[RunRecord]]:
    """Group our own runs that differ in nothing but seed and fold, in the order of first appearance."""
    ours = [record for record in records if not record.is_imported]
    keys = {one.text_without_seed: hash_of(without_fold(one.spec) | {"seed": 0}) for one in one_of_each_spec(ours)}
    return list(grouped((keys[one.text_without_seed], one) for one in ours).values())


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
        ours = "the runs join the embeddings of several models, and the row has those of one"
        yield ours if is_joined else "the row joins the embeddings of four models, and a run has those of one"
    elif row.setting == "separated":
        wanted = records[0].setting("split.n_folds") or 4
        for seed, folds in grouped((one.spec.get("seed"), one.setting("split.fold")) for one in records).items():
            if (n := len({fold for fold in folds if fold is not None})) != wanted:
                yield f"a repeat is the mean of {wanted} folds, and seed {seed} has {n}"
                return


def _value(record: RunRecord, row: PublishedRow) -> float | None:
    """Return what a run has for the row: a test score as a share of 1, or its best epoch, which papers count from 0."""
    if row.unit == "epoch":
        return None if record.best_epoch is None else float(record.best_epoch - 1)
    found = record.score(row.metric)
    # Precision@1 and recall@1 are one number under two names.
    alias = {"precision@1": "recall@1", "recall@1": "precision@1"}.get(row.metric)
    return record.score(alias) if found is None and alias is not None else found
