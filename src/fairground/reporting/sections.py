"""A section of the page: the runs of one data set under one protocol."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.comparison.generality import Generality
from fairground.comparison.run_scores import join_folds
from fairground.papers.expected_runs import ensemble_protocol
from fairground.papers.reproduction import PublishedVerdict, compare_with_published, repeats_of
from fairground.records.record import RunRecord, one_of_each_spec
from fairground.reporting.comparison import ComparisonResult, Confidence, confidence_of
from fairground.reporting.drawing import panels, svg_for_page
from fairground.reporting.figure import WIDTH, FigureInputs, ReportFigure, figures_of
from fairground.reporting.figures.embedding_map import EmbeddingMap, maps_of
from fairground.reporting.figures.learning_curves import LearningCurves, learning_curves_of
from fairground.reporting.figures.score_bars import ScoreBars, score_bars_of
from fairground.reporting.headings import clean
from fairground.reporting.methods import ClassScores
from fairground.reporting.run_set import RunSet, SectionKey, names_of_joined
from fairground.reporting.sentences import Models, Note, caption, headline_of, notes_of, question_of
from fairground.reporting.tables import ResultTable
from fairground.spec.identity import flatten, shared


@dataclass(frozen=True, kw_only=True)
class Section:
    """`card` is what all runs share, part by part; `comparison` is there if a run is done."""

    anchor: str
    dataset: str
    protocol: str
    table: ResultTable
    caption: str
    models: Models
    question: str
    headline: str
    card: Mapping[str, str]
    bars: ScoreBars
    bars_svg: str
    curves: LearningCurves
    curves_svg: str
    notes: Sequence[Note]
    comparison: ComparisonResult | None
    confidence: Confidence | None
    published: Sequence[tuple[str, PublishedVerdict]]
    figures: Sequence[tuple[ReportFigure, str]]
    maps: Sequence[EmbeddingMap]
    labels: Mapping[str, str]

    @property
    def title(self) -> str:
        return f"{self.dataset}, {self.models} models" if self.models else f"{self.dataset}, {self.protocol}"


def sections_of(inputs: Mapping[SectionKey, FigureInputs]) -> list[Section]:
    """Return a section for each data set and protocol."""
    return [_section(f"section-{i}", found, inputs) for i, found in enumerate(inputs.values())]


def inputs_of(runs: RunSet) -> dict[SectionKey, FigureInputs]:
    """Return the table, the comparison and the runs of every section; unfair tables say so on every row."""
    found: dict[SectionKey, FigureInputs] = {}
    for key, some in runs.sections().items():
        joined = tuple(join_folds(some.records))
        names = names_of_joined(some.records, joined, some.names)
        table = ResultTable.from_records(joined, names=names, primary=some.metric)
        comparison = None
        if any(record.state == "done" for record in joined):
            comparison = ComparisonResult.from_table(table, ranges=some.ranges)
            table = comparison.table
        found[key] = FigureInputs(
            key=key, runs=replace(some, records=joined), folds=some.records, table=table, comparison=comparison
        )
    for (data, protocol), inputs in found.items():
        concatenated = found.get((data, ensemble_protocol(protocol)))
        if concatenated is not None and concatenated.comparison is not None:
            found[data, protocol] = replace(inputs, concatenated=concatenated.table)
    return found


def _generality(inputs: FigureInputs) -> Generality | None:
    """Return the comparison over seeds, over test classes and over both; None where runs kept no scores per class.

    Runs made in waves are compared over seeds only: their looks are not corrected for over classes.
    """
    table, metric = inputs.table, inputs.metric
    comparison = table.comparisons.get(metric)
    is_known = table.waves is None and table.split == "test" and table.higher_is_better.get(metric) is not None
    if comparison is None or len(comparison.pairs) == 0 or not is_known or not table.is_fair:
        return None
    classes = ClassScores(records=inputs.folds, folders=inputs.runs.folders)
    scores = classes.of(metric, [row.method for row in table.rows])
    if scores.missing or set(scores.values) != {method.name for method in comparison.methods}:
        return None
    return scores.generality(level=table.level, margin=comparison.margin, is_higher=comparison.higher_is_better)


def _section(anchor: str, inputs: FigureInputs, others: Mapping[SectionKey, FigureInputs]) -> Section:
    table, comparison = inputs.table, inputs.comparison
    models: Models = "separated" if (inputs.key[0], ensemble_protocol(inputs.key[1])) in others else ""
    if any("ensemble" in record.spec for record in inputs.folds):
        models = "concatenated"
    bars, curves = score_bars_of(table), learning_curves_of(table)
    repeats = repeats_of(inputs.folds)
    labels = _labels(repeats, table)
    generality = _generality(inputs)
    unfair = comparison.fairness.refusal() if comparison is not None and not comparison.is_fair else None
    return Section(
        anchor=anchor,
        dataset=inputs.dataset,
        protocol=clean(inputs.key[1]),
        table=table,
        caption=caption(table),
        models=models,
        question=question_of(table, inputs.dataset, models),
        headline=headline_of(table, unfair=unfair, generality=generality),
        card=_card([flatten(record.spec) for record in one_of_each_spec(inputs.folds)]),
        bars=bars,
        bars_svg=svg_for_page(
            panels([bars.panel()]), (WIDTH, bars.height), prefix=f"{anchor}-bars", description=bars.description
        ),
        curves=curves,
        curves_svg=svg_for_page(
            panels([curves.panel()]), (WIDTH, 4.2), prefix=f"{anchor}-curves", description=curves.description
        ),
        notes=notes_of(table),
        comparison=comparison,
        confidence=None if comparison is None else confidence_of(comparison, generality),
        published=compare_with_published(repeats, labels),
        figures=[(figure, figure.svg(anchor)) for figure in figures_of(inputs) if figure.is_for_page],
        maps=maps_of(inputs),
        labels=labels,
    )


def _labels(repeats: Iterable[Sequence[RunRecord]], table: ResultTable) -> dict[str, str]:
    """Return each run's method by the name of the run, also of runs whose folds were averaged."""
    known = {record.name: row.label for row in table.rows for record in row.method.records}
    found: dict[str, str] = {}
    for group in repeats:
        label = next((known[run.name] for run in group if run.name in known), "?")
        found |= {run.name: known.get(run.name, label) for run in group}
    return found


def _card(flat: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return 'part: name, setting value, ...' of everything shared."""
    parts: dict[str, list[str]] = {}
    for key, value in shared(flat).items():
        part, _, setting = key.partition(".")
        # Left out: what is in the section's title, and published bugs that are switched off.
        if key in ("protocol", "data") or not value or (setting.endswith("_bug") and value == "false"):
            continue
        settings = parts.setdefault(part, [])
        # A component's name comes before its settings.
        settings.insert(len(settings) if setting else 0, clean(f"{setting.replace('_', ' ')} {value}".strip()))
    return {part: " · ".join(settings) for part, settings in parts.items()}
