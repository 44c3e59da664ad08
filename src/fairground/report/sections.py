"""A panel: everything the page says about the runs of one data set under one protocol."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairground.fairness.folds import join_folds
from fairground.records.artefacts import RunFolder
from fairground.records.record import RunRecord
from fairground.report.comparison import UNFAIR, ComparisonResult
from fairground.report.confidence import Confidence, confidence_of
from fairground.report.drawing import svg_for_page
from fairground.report.figure import ReportFigure, figures_of
from fairground.report.figure_inputs import FigureInputs
from fairground.report.figures.bars import Bars, bars_of, draw_bars, height_of
from fairground.report.figures.curves import Curves, curves_of, draw_curves
from fairground.report.figures.embedding_map import EmbeddingMap, maps_of
from fairground.report.headings import clean
from fairground.report.headline import headline_of, question_of
from fairground.report.notes import Note, notes_of
from fairground.report.published_comparison import PublishedComparison, compare_with_published
from fairground.report.published_verdict import repeats_of
from fairground.report.table_formats import caption
from fairground.report.tables import ResultTable
from fairground.spec.flatten import flatten, shared
from fairground.spec.space import Range
from fairground.study.trial import Trial

#: what a panel is about: the data set and the protocol
Place = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class Sources:
    """What runs left behind besides their records, and how to look at it.

    `folders` are the runs' files by run; `searches` trials by data set and protocol, then by method's name; `names`
    says what to call a method, by its hash; `metric` is what to sort by if not by what the runs were selected by.
    """

    folders: Mapping[str, RunFolder] = field(default_factory=dict)
    searches: Mapping[Place, Mapping[str, Sequence[Trial]]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    metric: str | None = None


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """One figure twice: for wide windows and for phones, where a shrunken wide one could not be read."""

    wide: str
    narrow: str


@dataclass(frozen=True, kw_only=True)
class Section:
    """`card` is what all runs share, part by part; `contest` the guard's word and the verdicts, if a run is done."""

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
    contest: ComparisonResult | None
    belief: Confidence | None
    beside: Sequence[PublishedComparison]
    plates: Sequence[tuple[ReportFigure, Drawing]]
    maps: Sequence[EmbeddingMap]
    labels: Mapping[str, str]


def places_of(records: Iterable[RunRecord]) -> dict[Place, list[RunRecord]]:
    """Group runs by data set and protocol: those of different ones never share a table."""
    groups: dict[Place, list[RunRecord]] = {}
    for record in records:
        spec = flatten(record.spec)
        groups.setdefault((spec.get("data", "?"), spec.get("protocol", "?")), []).append(record)
    return groups


def sections_of(records: Iterable[RunRecord], sources: Sources) -> list[Section]:
    """Return a panel for each data set and protocol."""
    return [_panel(f"panel-{i}", place, group, sources) for i, (place, group) in enumerate(places_of(records).items())]


def figure_inputs_of(
    place: Place, records: Sequence[RunRecord], sources: Sources
) -> tuple[FigureInputs, ComparisonResult | None]:
    """Return what the figures of one panel are made of, and the guard's word; unfair tables say so on every row."""
    joined = join_folds(records)
    names = _names(records, joined, sources.names)
    contest = None
    if any(record.state == "done" for record in joined):
        contest = ComparisonResult.from_records(joined, metric=sources.metric, ranges=sources.ranges, names=names)
    is_fair = contest is None or contest.is_fair
    if not is_fair:
        labels = {row.method.key: row.label for row in ResultTable.from_records(joined, names=names).rows}
        names = {key: UNFAIR + label for key, label in labels.items()}
    table = ResultTable.from_records(joined, names=names, primary=sources.metric)
    material = FigureInputs(
        dataset=clean(place[0]),
        table=table if is_fair else table.without_marks(),
        records=tuple(joined),
        folders=sources.folders,
        searches=sources.searches.get(place, {}),
    )
    return material, contest


def _panel(anchor: str, place: Place, records: Sequence[RunRecord], sources: Sources) -> Section:
    material, contest = figure_inputs_of(place, records, sources)
    table = material.table
    bars, curves = bars_of(table), curves_of(table)
    labels = _labels(records, table)
    unfair = contest.comparison.refusal() if contest is not None and not contest.is_fair else None
    belief = None if contest is None else confidence_of(contest, _values(contest, table))
    return Section(
        anchor=anchor,
        dataset=clean(place[0]),
        protocol=clean(place[1]),
        table=table,
        caption=caption(table),
        question=question_of(table, clean(place[0])),
        answer=headline_of(table, unfair=unfair),
        card=_card([flatten(record.spec) for record in records]),
        bars=bars,
        bars_drawn=_draw_bars(bars, anchor),
        curves=curves,
        curves_drawn=_draw_curves(curves, anchor),
        notes=notes_of(table),
        contest=contest,
        belief=belief,
        beside=compare_with_published(records, labels),
        plates=[
            (plate, Drawing(wide=plate.wide(anchor), narrow=plate.narrow(anchor)))
            for plate in figures_of(material)
            if plate.is_for_page
        ],
        maps=maps_of(material),
        labels=labels,
    )


def _labels(records: Sequence[RunRecord], table: ResultTable) -> dict[str, str]:
    """Return each run's method by the run's name; of runs whose folds were averaged, too."""
    known = {record.name: row.label for row in table.rows for record in row.method.records}
    found: dict[str, str] = {}
    for group in repeats_of(records):
        label = next((known[run.name] for run in group if run.name in known), "?")
        found |= {run.name: known.get(run.name, label) for run in group}
    return found


def _values(contest: ComparisonResult, table: ResultTable) -> dict[str, dict[int, float]]:
    """Return the table's values under the names the contest uses, which are not marked unfair."""
    found = table.values(contest.metric)
    return found if contest.is_fair else {label.removeprefix(UNFAIR): values for label, values in found.items()}


def _names(records: Sequence[RunRecord], joined: Sequence[RunRecord], names: Mapping[str, str]) -> dict[str, str]:
    """Return the names by the hashes that methods have once their folds are averaged."""
    before = {record.name: record.method for record in records}
    found = {record.method: names.get(before.get(record.name, record.method)) for record in joined}
    return {key: name for key, name in found.items() if name is not None}


def _card(flat: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return 'part: name, setting value, ...' of everything shared."""
    parts: dict[str, list[str]] = {}
    for key, value in shared(flat).items():
        part, _, setting = key.partition(".")
        if key in ("protocol", "data") or not value:  # the panel's title says so, or there is nothing to say
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
