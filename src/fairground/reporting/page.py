"""One self-contained page: for each data set and protocol the question, the headline, and all that it rests on."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from fairground.comparison import COMPARED, Generality, is_under
from fairground.papers import compare_with_published, ensemble_protocol, repeats_of
from fairground.records import RunRecord, grouped, one_of_each_spec
from fairground.reporting import ClassScores, caption, confidence_of, galleries_of, panels, sentences, write_figure
from fairground.reporting.embedding_map import maps_of
from fairground.reporting.figure import FigureInputs, figures_of
from fairground.reporting.figures.scores_and_ranks import curve_panel, curves_of, score_panel
from fairground.reporting.headings_and_units import clean, duration, shorten
from fairground.reporting.methods_and_labels import Method
from fairground.reporting.page_templates import render, write_page
from fairground.reporting.result_table import UNFAIR, ResultTable
from fairground.reporting.run_set import RunSet, SectionKey, collected
from fairground.reporting.tables_over_datasets import OverTables, over_tables
from fairground.spec import InputError, flatten, shared

#: runs listed under provenance; more would make the page slow to open
MOST_LISTED = 1000


def build_page(runs: RunSet, *, out: Path, **settings: Any) -> Path:
    return write_page(page_text(runs, **settings), out)


def page_text(
    runs: RunSet,
    *,
    inputs: Mapping[SectionKey, FigureInputs] | None = None,
    live: bool = False,
) -> str:
    """Return the page; `inputs` are the fitted tables of the runs, where the caller has them."""
    with collected() as damaged:
        sections = sections_of(inputs_of(runs) if inputs is None else inputs)
        rows = [row for section in sections for row in section["table"].rows]
        galleries, n_left_out = galleries_of(rows, runs)
        over = _over_sections(sections)
    every: dict[tuple[str, str], None] = {}
    for origin in (record.provenance for record in runs.records if not record.is_imported):
        code = {"fairground": origin.fairground, **origin.packages}
        where = {"machine": origin.hardware, "device": origin.device_text, "threads per run": str(origin.threads)}
        prints = {"data fingerprint": origin.data_fingerprint, "split fingerprint": origin.split_fingerprint}
        every |= dict.fromkeys([*code.items(), *where.items(), *prints.items()])
    found = grouped((key, shorten(value, 120)) for key, value in every if value)
    return render(
        "page.html",
        title=runs.title or f"{len(runs.records)} runs",
        live=live,
        study=runs.study,
        sections=sections,
        run_galleries=galleries,
        n_left_out=n_left_out,
        damaged=damaged,
        records=runs.records,
        most_listed=MOST_LISTED,
        labels={name: label for section in sections for name, label in section["labels"].items()},
        over=over,
        over_figures=[(figure, figure.svg("over")) for figure in (() if over is None else over.figures)],
        counts=_counts(runs.records, rows, sections[0]["noun"]),
        versions={key: " / ".join(dict.fromkeys(values)) for key, values in found.items()},
    )


def picture(runs: RunSet, out: Path) -> Path:
    scores, curves = score_panel(runs.table), curves_of(runs.table)
    keys = [(label, line.series) for label, line in curves.items()]
    draw = panels([scores, curve_panel(runs.table, curves)], keys=keys, kind="line", width_ratios=(1.15, 1))
    return write_figure(draw, (13, max(4.2, 0.9 + 0.42 * len(scores.rows))), out)


def inputs_of(runs: RunSet) -> dict[SectionKey, FigureInputs]:
    sections = runs.sections().items()
    found = {key: FigureInputs(key=key, runs=some, table=some.table.shown()) for key, some in sections}
    for (data, protocol), inputs in found.items():
        concatenated = found.get((data, ensemble_protocol(protocol)))
        if concatenated is not None and concatenated.table.comparisons:
            found[data, protocol] = replace(inputs, concatenated=concatenated.table)
    return found


def sections_of(inputs: Mapping[SectionKey, FigureInputs]) -> list[dict[str, Any]]:
    return [_section(f"section-{i}", found, inputs) for i, found in enumerate(inputs.values())]


def _section(anchor: str, inputs: FigureInputs, others: Mapping[SectionKey, FigureInputs]) -> dict[str, Any]:
    table, protocol = inputs.table, clean(inputs.key[1])
    models: sentences.Models = "separated" if (inputs.key[0], ensemble_protocol(inputs.key[1])) in others else ""
    if any("ensemble" in record.spec for record in inputs.folds):
        models = "concatenated"
    repeats = repeats_of(inputs.folds)
    labels = _labels(repeats, table)
    is_ranking, is_toy = inputs.kind == "ranking", inputs.kind == "toy"
    generality = _generality(inputs) if is_ranking else None
    beside = " Imported results are not part of this: how they were made cannot be checked."
    figures = figures_of(inputs)
    headline = " ".join(figure.answer for figure in figures if figure.is_answer and figure.answer)
    shown = [(figure, figure.svg(anchor)) for figure in figures if figure.is_for_page]
    return {
        "anchor": anchor,
        "title": f"{inputs.dataset}, {models} models" if models else f"{inputs.dataset}, {protocol}",
        "dataset": inputs.dataset,
        "protocol": protocol,
        "models": models,
        "table": table,
        "caption": caption(table),
        "question": sentences.question_of(table, inputs.dataset, models),
        "headline": (headline or sentences.headline_of(table, generality))
        + (beside if table.rows and table.imported else ""),
        "card": _card([flatten(record.spec) for record in one_of_each_spec(inputs.folds)]),
        "scores": score_panel(table),
        "drawn": next((one.svg(anchor) for one in figures if one.name == "scores"), ""),
        "notes": sentences.notes_of(table),
        "fairness": table.fairness if table.comparisons and not is_toy else None,
        "varied": [key for key in (table.study.varied if table.study else ()) if not is_under(key, COMPARED)],
        "confidence": confidence_of(table) if table.comparisons and is_ranking else None,
        "published": compare_with_published(repeats, labels),
        "answers": [(figure, svg) for figure, svg in shown if figure.is_answer],
        "figures": [(figure, svg) for figure, svg in shown if not figure.is_answer],
        "maps": [] if is_toy else maps_of(inputs),
        "noun": ("space" if inputs.done[0].is_untrained else "variant") if is_toy and inputs.done else "method",
        "labels": labels,
    }


def _generality(inputs: FigureInputs) -> Generality | None:
    """Return the comparison over seeds, test classes and both; None for runs in waves or without scores per class."""
    table, metric = inputs.table, inputs.metric
    comparison = table.comparisons.get(metric)
    is_known = table.waves is None and table.split == "test" and table.higher_is_better.get(metric) is not None
    if comparison is None or len(comparison.pairs) == 0 or not is_known or not table.is_fair:
        return None
    classes = ClassScores(records=inputs.folds, folders=inputs.runs.folders)
    methods, is_higher = table.rows, comparison.higher_is_better
    try:
        found = classes.generality(metric, methods, level=table.level, margin=comparison.margin, is_higher=is_higher)
    except InputError:
        return None
    return found if {one.name for one in found.seeds.methods} == {one.name for one in comparison.methods} else None


def _labels(repeats: Iterable[Sequence[RunRecord]], table: ResultTable) -> dict[str, str]:
    """Return each run's method by the name of the run, also of runs whose folds were averaged."""
    found = {record.name: row.label for row in (*table.rows, *table.imported) for record in row.records}
    for group in repeats:
        label = next((found[run.name] for run in group if run.name in found), "?")
        found |= {run.name: found.get(run.name, label) for run in group}
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


def _over_sections(sections: Sequence[Mapping[str, Any]]) -> OverTables | None:
    single = [section for section in sections if section["models"] != "concatenated" and section["table"].rows]
    is_fair = all(section["confidence"] is not None and section["table"].is_fair for section in single)
    tables = {section["dataset"]: section["table"] for section in single}
    with suppress(InputError):  # too little in common, and each data set has its own section anyway
        return over_tables(tables) if is_fair and len(tables) == len(single) else None
    return None


def _counts(records: Sequence[RunRecord], rows: Sequence[Method], noun: str) -> dict[str, str]:
    """Return how much work the page is about; concatenated models were trained as single ones."""
    seeds = sorted({row.n_done for row in rows})
    if not rows:
        return {"imported": str(len(records))}
    trained = [record for record in records if "ensemble" not in record.spec and not record.is_imported]
    n_methods = len({row.label.removeprefix(UNFAIR) for row in rows})
    work = "of measuring" if all(record.is_untrained for record in trained) else "of training"
    return {
        noun if n_methods == 1 else f"{noun}s": str(n_methods),
        "run" if len(trained) == 1 else "runs": str(len(trained)),
        f"seed{'' if seeds == [1] else 's'} per {noun}": " to ".join(map(str, {seeds[0]: 0, seeds[-1]: 0})),
        work: duration(sum(record.provenance.wall_seconds for record in trained)),
    }
