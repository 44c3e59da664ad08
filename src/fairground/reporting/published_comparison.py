"""Our methods beside the papers' numbers, where a paper's protocol was followed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fairground.papers.published import PublishedRow, published_rows
from fairground.records.record import RunRecord
from fairground.reporting.headings import heading
from fairground.reporting.published_expected import expected_runs
from fairground.reporting.published_verdict import Outcome, PublishedVerdict, obstacles, verdict_of
from fairground.reporting.run_set import ensemble_protocol


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


def compare_with_published(
    groups: Iterable[Sequence[RunRecord]], labels: Mapping[str, str]
) -> list[PublishedComparison]:
    """Return a line for every printed number of the protocol and loss of each method's runs, as `repeats_of` has them.

    `labels` names methods by run.
    """
    found: list[PublishedComparison] = []
    for group in groups:
        label = labels.get(group[0].name, _loss_of(group[0]))
        found += _lines(label, group, rows_for(group[0]))
    order = {"differs": 0, "reproduced": 1, "not comparable": 2}
    return sorted(found, key=lambda line: order[line.outcome])


def rows_for(record: RunRecord) -> list[PublishedRow]:
    """Return the printed numbers that a run of this kind may be compared with: its protocol's and its loss'."""
    protocol, is_joined = str(record.spec.get("protocol")), "ensemble" in record.spec
    return _rows_for(protocol, None if record.is_untrained else _loss_of(record), is_joined)


@lru_cache(maxsize=256)
def _rows_for(protocol: str, loss: str | None, is_joined: bool) -> list[PublishedRow]:
    """Return the rows of a protocol and a loss, None where nothing is trained; many methods of a page ask for one."""
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


def _lines(label: str, group: Sequence[RunRecord], rows: Sequence[PublishedRow]) -> list[PublishedComparison]:
    known: dict[tuple[object, ...], list[str]] = {}
    for row in rows:
        if _method(row) not in known:
            known[_method(row)] = list(obstacles(group, row))
    verdicts = [(row, verdict_of(group, row, known=known[_method(row)])) for row in rows]
    held = [(row, verdict) for row, verdict in verdicts if verdict.outcome != "not comparable"]
    # Of rows none of which fits, the nearest says enough: the fewest reasons against it, and the same components.
    nearest = sorted(verdicts, key=lambda pair: _distance(known[_method(pair[0])]))[:1]
    return [_line(label, row, verdict) for row, verdict in held or nearest]


def _method(row: PublishedRow) -> tuple[object, ...]:
    return row.table_name, row.method, row.dataset, row.network, row.embedding_dim, row.setting


def _distance(reasons: Sequence[str]) -> tuple[int, int]:
    """Return how far runs are from a row: by how many reasons, and by how many other components among them."""
    return len(reasons), sum("." not in reason.partition(" is ")[0] for reason in reasons)


def _line(label: str, row: PublishedRow, verdict: PublishedVerdict) -> PublishedComparison:
    ours = verdict.ours
    scale = 100 if row.unit == "percent" else 1
    spread = "" if ours is None or ours.half_width is None else f" ± {scale * ours.half_width:.2f}"
    return PublishedComparison(
        label=label,
        table=row.table_name,
        row=row.row,
        metric=heading(row.metric),
        printed=row.printed,
        ours="-" if ours is None else f"{scale * ours.mean:.2f}{spread}",
        outcome=verdict.outcome,
        sentence=verdict.sentence,
    )
