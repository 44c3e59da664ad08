"""A section: everything the page says about the runs of one data set under one protocol."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairground.comparison.generality import Generality
from fairground.comparison.run_scores import join_folds
from fairground.papers.expected_runs import ensemble_protocol
from fairground.papers.reproduction import PublishedComparison, compare_with_published, repeats_of
from fairground.records.record import RunRecord, one_of_each_spec
from fairground.reporting.class_scores import ClassScores
from fairground.reporting.comparison import UNFAIR, ComparisonResult
from fairground.reporting.confidence import Confidence, confidence_of
from fairground.reporting.drawing import panels, svg_for_page
from fairground.reporting.figure import WIDTH, FigureInputs, ReportFigure, figures_of
from fairground.reporting.figures.embedding_map import EmbeddingMap, maps_of
from fairground.reporting.figures.learning_curves import LearningCurves, learning_curves_of
from fairground.reporting.figures.score_bars import ScoreBars, score_bars_of
from fairground.reporting.headings import clean
from fairground.reporting.headline import Models, headline_of, question_of
from fairground.reporting.notes import Note, notes_of
from fairground.reporting.run_set import RunSet, SectionKey, names_of_joined
from fairground.reporting.table_formats import caption
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
    published: Sequence[PublishedComparison]
    figures: Sequence[tuple[ReportFigure, str]]
    maps: Sequence[EmbeddingMap]
    labels: Mapping[str, str]

    @property
    def title(self) -> str:
        """What tells the section from others of a page."""
        return f"{self.dataset}, {self.models} models" if self.models else f"{self.dataset}, {self.protocol}"


def sections_of(runs: RunSet) -> list[Section]:
    """Return a section for each data set and protocol."""
    groups = runs.sections()
    return [_section(f"section-{i}", key, groups) for i, key in enumerate(groups)]


def _models(key: SectionKey, groups: Mapping[SectionKey, RunSet]) -> Models:
    """Return which models of a study's folds a section is about; nothing where there is no choice."""
    if any("ensemble" in record.spec for record in groups[key].records):
        return "concatenated"
    data, protocol = key
    return "separated" if (data, ensemble_protocol(protocol)) in groups else ""


def figure_inputs_of(
    key: SectionKey, groups: Mapping[SectionKey, RunSet]
) -> tuple[FigureInputs, ComparisonResult | None]:
    """Return what the figures of one section are made of, and the comparison; unfair tables say so on every row."""
    runs = groups[key]
    joined = tuple(join_folds(runs.records))
    names = names_of_joined(runs.records, joined, runs.names)
    comparison = None
    if any(record.state == "done" for record in joined):
        comparison = ComparisonResult.from_records(joined, metric=runs.metric, ranges=runs.ranges, names=names)
    is_fair = comparison is None or comparison.is_fair
    if not is_fair:
        labels = {row.method.key: row.label for row in ResultTable.from_records(joined, names=names).rows}
        names = {key: UNFAIR + label for key, label in labels.items()}
    if comparison is not None and is_fair and runs.metric is None:
        table = comparison.table
    else:
        table = ResultTable.from_records(joined, names=names, primary=runs.metric)
    kept = replace(runs, records=joined)
    inputs = FigureInputs(
        key=key,
        runs=kept,
        table=table if is_fair else table.without_marks(),
        concatenated=_concatenated(key, groups),
    )
    return inputs, comparison


def _generality(runs: RunSet, table: ResultTable) -> Generality | None:
    """Return the comparison over seeds, over test classes and over both; None where runs kept no scores by class.

    Runs made in waves are compared over seeds alone: their looks are not corrected for over classes.
    """
    metric = table.primary
    comparison = table.comparisons.get(metric)
    is_known = table.waves is None and table.split == "test" and table.higher_is_better.get(metric) is not None
    if comparison is None or len(comparison.pairs) == 0 or not is_known:
        return None
    scores = ClassScores(records=runs.records, folders=runs.folders).of(metric, [row.method for row in table.rows])
    if scores.missing or set(scores.values) != {method.name for method in comparison.methods}:
        return None
    return scores.generality(level=table.level, margin=comparison.margin, is_higher=comparison.higher_is_better)


def _concatenated(key: SectionKey, groups: Mapping[SectionKey, RunSet]) -> ResultTable | None:
    """Return the table of the same methods with the models of their folds joined, where there is one."""
    data, protocol = key
    runs = groups.get((data, ensemble_protocol(protocol)))
    if runs is None or not any(record.state == "done" for record in runs.records):
        return None
    return ResultTable.from_records(runs.records, names=runs.names)


def _section(anchor: str, key: SectionKey, groups: Mapping[SectionKey, RunSet]) -> Section:
    runs, models = groups[key], _models(key, groups)
    inputs, comparison = figure_inputs_of(key, groups)
    table = inputs.table
    bars, curves = score_bars_of(table), learning_curves_of(table)
    repeats = repeats_of(runs.records)
    labels = _labels(repeats, table)
    unfair = comparison.fairness.refusal() if comparison is not None and not comparison.is_fair else None
    generality = _generality(runs, table) if unfair is None else None
    return Section(
        anchor=anchor,
        dataset=inputs.dataset,
        protocol=clean(key[1]),
        table=table,
        caption=caption(table),
        models=models,
        question=question_of(table, inputs.dataset, models),
        headline=headline_of(table, unfair=unfair, generality=generality),
        card=_card([flatten(record.spec) for record in one_of_each_spec(runs.records)]),
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
    """Return each run's method by the run's name; of runs whose folds were averaged, too."""
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
        # The section's title says so, or there is nothing to say: a published bug that is not switched on is no news.
        if key in ("protocol", "data") or not value or (setting.endswith("_bug") and value == "false"):
            continue
        said = parts.setdefault(part, [])
        # A component's name comes first: its settings would hide it.
        said.insert(len(said) if setting else 0, clean(f"{setting.replace('_', ' ')} {value}".strip()))
    return {part: " · ".join(settings) for part, settings in parts.items()}
