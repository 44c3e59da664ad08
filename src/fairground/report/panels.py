"""A panel: everything the page says about the runs of one data set under one protocol."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairground.records.record import RunRecord
from fairground.report.answer import answer_of, question_of
from fairground.report.drawing import svg_for_page
from fairground.report.figures.bars import Bars, bars_of, draw_bars, height_of
from fairground.report.figures.curves import Curves, curves_of, draw_curves
from fairground.report.formats import caption
from fairground.report.headings import clean
from fairground.report.notes import Note, notes_of
from fairground.report.tables import ResultTable
from fairground.spec.flat import flatten, shared


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One figure twice: for wide windows and for phones, where a shrunken wide one could not be read."""

    wide: str
    narrow: str


@dataclass(frozen=True, kw_only=True)
class Panel:
    """`card` is what all runs share, part by part."""

    anchor: str
    dataset: str
    protocol: str
    table: ResultTable
    caption: str
    question: str
    answer: str
    card: Mapping[str, str]
    bars: Bars
    bars_drawn: Drawing
    curves: Curves
    curves_drawn: Drawing
    notes: Sequence[Note]


def panels_of(records: Iterable[RunRecord], names: Mapping[str, str] | None = None) -> list[Panel]:
    """Return a panel for each data set and protocol: runs of different ones never share a table."""
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for record in records:
        spec = flatten(record.spec)
        groups.setdefault((spec.get("data", "?"), spec.get("protocol", "?")), []).append(record)
    return [
        _panel(f"panel-{i}", clean(dataset), clean(protocol), group, names)
        for i, ((dataset, protocol), group) in enumerate(groups.items())
    ]


def _panel(
    anchor: str, dataset: str, protocol: str, records: Sequence[RunRecord], names: Mapping[str, str] | None
) -> Panel:
    table = ResultTable.from_records(records, names=names)
    bars, curves = bars_of(table), curves_of(table)
    return Panel(
        anchor=anchor,
        dataset=dataset,
        protocol=protocol,
        table=table,
        caption=caption(table),
        question=question_of(table, dataset),
        answer=answer_of(table),
        card=_card([flatten(record.spec) for record in records]),
        bars=bars,
        bars_drawn=_draw_bars(bars, anchor),
        curves=curves,
        curves_drawn=_draw_curves(curves, anchor),
        notes=notes_of(table),
    )


def _card(flat: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return 'part: name, setting value, ...' of everything shared."""
    parts: dict[str, list[str]] = {}
    for key, value in shared(flat).items():
        part, _, setting = key.partition(".")
        if key in ("protocol", "data"):  # the panel's title says so
            continue
        parts.setdefault(part, []).append(clean(f"{setting.replace('_', ' ')} {value}".strip()))
    return {part: " · ".join(settings) for part, settings in parts.items()}


def _draw_bars(bars: Bars, anchor: str) -> Drawing:
    said = "; ".join(f"{clean(bar.label)} {bar.text}" for bar in bars.bars[:12])
    description = f"{bars.axis}, mean, 95 % interval and single runs: {said}"
    height = height_of(bars)
    wide = svg_for_page(draw_bars(bars), (9.4, height), prefix=f"{anchor}-bars", description=description)
    narrow = svg_for_page(
        draw_bars(bars, is_narrow=True), (3.5, 1.45 * height), prefix=f"{anchor}-bars-narrow", description=description
    )
    return Drawing(wide=wide, narrow=narrow)


def _draw_curves(curves: Curves, anchor: str) -> Drawing:
    said = "; ".join(f"{clean(curve.label)} ends at {curve.means[-1]:.2f}" for curve in curves.curves[:12])
    description = f"{curves.axis} after each epoch, mean and range over seeds: {said}"
    draw = draw_curves(curves)
    return Drawing(
        wide=svg_for_page(draw, (9.4, 4.2), prefix=f"{anchor}-curves", description=description),
        narrow=svg_for_page(draw, (3.5, 3.2), prefix=f"{anchor}-curves-narrow", description=description),
    )
