"""A figure for a page or a paper: what it shows in a sentence, its drawing, and its numbers.

A file in `figures/` has figures on one subject: functions of `FigureInputs` that return nothing when the runs lack what
they need. Its `PAGE_ORDER` has the name of each with its place on the page. The function's name is the figure's.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from statistics import fmean

from fairground import studies
from fairground.comparison import Interval
from fairground.records import RunRecord
from fairground.reporting import Method, RunSet, SectionKey, clean, figures, heading, series_of, shorten, unit
from fairground.reporting.drawing import Draw, Size, svg_for_page, write_figure
from fairground.reporting.result_table import PRECISION_AT_1, ResultTable
from fairground.spec import is_share
from fairground.spec.study_spec import Kind

#: inches of a page's column
WIDTH = 9.4

#: the figures that answer each kind of question, first to last
ANSWERS: Mapping[Kind, tuple[str, ...]] = {
    "factor": ("effects", "distributions"),
    "regularisation": ("p_switch", "regularised", "mixup", "spectra", "class_spectra"),
    "correlation": ("structure", "correlations"),
    "toy": ("toy_spaces", "toy_lines"),
    "untrained": ("scores",),
    "progress": ("over_time", "average_improvement"),
}
#: figures that ask which method is best
RANKINGS = ("over_time", "average_improvement")


@dataclass(frozen=True, kw_only=True)
class FigureInputs:
    """The runs of the section `key` fold by fold, their `table` with folds averaged, and that of joined models."""

    key: SectionKey
    runs: RunSet
    table: ResultTable
    concatenated: ResultTable | None = None

    @cached_property
    def folds(self) -> tuple[RunRecord, ...]:
        return tuple(record for record in self.runs.records if not record.is_imported)

    @property
    def dataset(self) -> str:
        return clean(self.key[0])

    @property
    def trials(self) -> Mapping[str, Sequence["studies.Trial"]]:
        return self.runs.trials.get(self.key, {})

    @property
    def metric(self) -> str:
        return self.table.primary

    @property
    def kind(self) -> Kind:
        return "ranking" if self.runs.study is None else self.runs.study.kind

    @property
    def is_averaged(self) -> bool:
        """Whether a run is a repeat, the mean over its folds."""
        return len(self.folds) > sum(row.n_runs for row in self.table.rows)

    def count(self, n: int) -> str:
        return count(n, "repeat" if self.is_averaged else "run")

    @property
    def habitual(self) -> str:
        """Recall@1 where the runs have it, as in the papers' figures; otherwise the metric of selection."""
        return next((metric for metric in PRECISION_AT_1 if metric in self.table.metrics), self.metric)

    @cached_property
    def analysed(self) -> dict[str, Path]:
        """The files with curves of the training split, by run."""
        return self.runs.files("analyses.npz")

    @cached_property
    def methods(self) -> list[Method]:
        return [row for row in self.table.rows if row.n_done]

    @property
    def done(self) -> list[RunRecord]:
        return [run for method in self.methods for run in method.done]

    @cached_property
    def series(self) -> dict[str, int | None]:
        """The colour of each method, the same in all figures of a page."""
        return {row.label: series_of(rank) for rank, row in enumerate(self.table.rows)}

    def scores(self, method: Method, metric: str | None = None) -> list[float]:
        """Return a method's scores in the unit shown: per cent for shares."""
        chosen = metric or self.metric
        return [factor_of(chosen) * value for value in method.values(chosen, self.table.split)]

    def means(self, metric: str) -> dict[str, float]:
        """Return the mean score of each method that has the metric, by label, in the unit shown."""
        return {method.label: fmean(some) for method in self.methods if (some := self.scores(method, metric))}


@dataclass(frozen=True, kw_only=True)
class ReportFigure:
    """`rows` are the same facts under `columns`; `answer` is what it says to the study's question where `is_answer`."""

    title: str
    sentence: str
    draw: Draw
    height: float
    name: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str | float | None]] = ()
    is_for_page: bool = True
    answer: str = ""
    is_answer: bool = False

    @property
    def size(self) -> Size:
        return WIDTH, self.height

    @cached_property
    def numbers(self) -> tuple[tuple[str, ...], ...]:
        def text(x: str | float | None) -> str:
            return "-" if x is None else f"{x:.2f}" if isinstance(x, float) else str(x)

        return tuple(tuple(map(text, row)) for row in self.rows)

    def svg(self, anchor: str) -> str:
        description = shorten(clean(f"{self.title}. {self.sentence}"), 600)
        return svg_for_page(self.draw, self.size, prefix=f"{anchor}-{self.name}", description=description)


def figures_of(inputs: FigureInputs) -> list[ReportFigure]:
    """Return the figures that can be drawn, those that answer the study's question first; a toy has no others."""
    files = [
        importlib.import_module(f"{figures.__name__}.{one.name}") for one in pkgutil.iter_modules(figures.__path__)
    ]
    known = [(place, name, getattr(file, name)) for file in files for name, place in file.PAGE_ORDER.items()]
    draw = {name: figure_of for _, name, figure_of in sorted(known, key=itemgetter(0))}
    answers = ANSWERS.get(inputs.kind, ())
    others = [name for name in draw if inputs.kind == "ranking" or name not in RANKINGS]
    names = dict.fromkeys([*answers, *(() if inputs.kind == "toy" else others)])
    found = [(name, draw[name](inputs)) for name in names]
    return [replace(figure, name=name, is_answer=name in answers) for name, figure in found if figure is not None]


def write_figures(inputs: FigureInputs, folder: Path, kind: str, *, prefix: str = "") -> list[Path]:
    found = figures_of(inputs)
    return [write_figure(one.draw, one.size, folder / f"{prefix}{one.name}.{kind}") for one in found]


def factor_of(metric: str) -> float:
    return 100.0 if is_share(metric) else 1.0


def axis_of(metric: str) -> str:
    return f"{heading(metric)}{unit(metric)}"


def signed(found: Interval) -> str:
    """Return a number with its sign and, where it has one, its interval."""
    return f"{found.mean:+.2f}" + ("" if found.low is None else f" [{found.low:+.2f}, {found.high:+.2f}]")


def side_of(found: Interval) -> str:
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return "not settled"
    return "higher" if found.low > 0 else "lower"


def count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
