"""Our methods beside the papers' numbers, where a paper's protocol was followed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairground.records.published import PublishedRow, published_rows
from fairground.records.record import RunRecord
from fairground.report.headings import heading
from fairground.report.published_verdict import Outcome, PublishedVerdict, repeats_of, verdict_of

_MOST = 80


@dataclass(frozen=True, kw_only=True)
class PublishedComparison:
    """One printed number with our verdict on it."""

    label: str
    table: str
    row: str
    metric: str
    printed: str
    ours: str
    outcome: Outcome
    sentence: str


def compare_with_published(records: Iterable[RunRecord], labels: Mapping[str, str]) -> list[PublishedComparison]:
    """Return a line for every printed number of the runs' own protocol and loss; `labels` names methods by run."""
    found: list[PublishedComparison] = []
    for group in repeats_of(records):
        loss = group[0].spec.get("loss")
        name = loss.get("name") if isinstance(loss, Mapping) else None
        rows = [
            row
            for row in _rows(str(group[0].spec.get("protocol")))
            if row.loss == name and row.preset and row.unit == "percent"
        ]
        label = labels.get(group[0].name, str(name))
        found += _lines(label, group, rows)
    order = {"differs": 0, "reproduced": 1, "not comparable": 2}
    return sorted(found, key=lambda line: order[line.outcome])[:_MOST]


def _rows(protocol: str) -> list[PublishedRow]:
    return [row for row in published_rows() if row.protocol == protocol]


def _lines(label: str, group: Sequence[RunRecord], rows: Sequence[PublishedRow]) -> list[PublishedComparison]:
    verdicts = [(row, verdict_of(group, row)) for row in rows]
    held = [(row, verdict) for row, verdict in verdicts if verdict.outcome != "not comparable"]
    # Of rows none of which fits, the nearest says enough: it has the fewest reasons against it.
    nearest = sorted(verdicts, key=lambda pair: pair[1].sentence.count(";"))[:1]
    return [_line(label, row, verdict) for row, verdict in held or nearest]


def _line(label: str, row: PublishedRow, verdict: PublishedVerdict) -> PublishedComparison:
    ours = verdict.ours
    spread = "" if ours is None or ours.half_width is None else f" ± {100 * ours.half_width:.2f}"
    return PublishedComparison(
        label=label,
        table=row.table_name,
        row=row.row,
        metric=heading(row.metric),
        printed=row.printed,
        ours="-" if ours is None else f"{100 * ours.mean:.2f}{spread}",
        outcome=verdict.outcome,
        sentence=verdict.sentence,
    )
