"""What figures are made of: the runs of one data set under one protocol, and their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairground.reporting.headings import clean
from fairground.reporting.methods import Method
from fairground.reporting.palette import series_of
from fairground.reporting.run_set import RunSet, SectionKey
from fairground.reporting.tables import ResultTable
from fairground.spec.identity import flatten
from fairground.spec.measurement_names import is_share
from fairground.studies.trial import Trial

#: the metrics the papers draw, first choice first
_HABITUAL = ("recall@1", "precision@1")


@dataclass(frozen=True, kw_only=True)
class FigureInputs:
    """`runs` are those of the section `key`, folds averaged; `concatenated` is the table of their joined models."""

    key: SectionKey
    runs: RunSet
    table: ResultTable
    concatenated: ResultTable | None = None

    @property
    def dataset(self) -> str:
        """The data set's name as a page can show it."""
        return clean(self.key[0])

    @property
    def trials(self) -> Mapping[str, Sequence[Trial]]:
        """The trials of the search, by method's name."""
        return self.runs.trials.get(self.key, {})

    @property
    def metric(self) -> str:
        """The metric the runs were selected by."""
        return self.table.primary

    @property
    def habitual(self) -> str:
        """Recall@1 where the runs have it, as the papers' figures do; otherwise what the runs were selected by."""
        return next((metric for metric in _HABITUAL if metric in self.table.metrics), self.metric)

    @cached_property
    def methods(self) -> list[Method]:
        """The methods with a finished run, best first."""
        return [row.method for row in self.table.rows if row.n_done]

    @cached_property
    def series(self) -> dict[str, int | None]:
        """Which colour each method has, the same in all figures of a page."""
        return {row.label: series_of(rank) for rank, row in enumerate(self.table.rows)}

    def scores(self, method: Method, metric: str | None = None) -> list[float]:
        """Return a method's scores in the unit shown: per cent for shares."""
        chosen = metric or self.metric
        return [factor_of(chosen) * value for value in method.values(chosen, self.table.split)]

    def settings(self, method: Method) -> dict[str, str]:
        """Return a method's spec laid flat; kept, because many figures ask for it."""
        if method.key not in self._settings:
            self._settings[method.key] = flatten(method.records[0].spec)
        return self._settings[method.key]

    @cached_property
    def _settings(self) -> dict[str, dict[str, str]]:
        return {}


def factor_of(metric: str) -> float:
    """Return what a score is multiplied by to be shown: 100 for shares."""
    return 100.0 if is_share(metric) else 1.0


def count(n: int, word: str) -> str:
    """Return '1 run' or '3 runs'."""
    return f"{n} {word}{'' if n == 1 else 's'}"
