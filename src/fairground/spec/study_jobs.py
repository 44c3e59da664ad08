"""The cells of a study, one for each data set and method, and the runs each of them asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fairground.errors import require
from fairground.spec.declarations import is_learnable, tunable_of
from fairground.spec.load import load_run
from fairground.spec.procedures import SearchProcedure
from fairground.spec.run import ROOM_OF, ComponentSpec, RunSpec
from fairground.spec.settings import Value, parse_override
from fairground.spec.space import LogReal, Range, contains, grid_of, range_for
from fairground.spec.study import DataSpec, MethodSpec, StudySpec

#: as MLRC searched the rate of a loss' own weights
LOSS_RATE = LogReal(low=1e-6, high=1.0)
#: stands for what only the user can say
UNSAID = "(yours to say)"
#: rates that are the trunk's where they are left out
_FOLLOWING_RATES = ("optimiser.head_lr", "optimiser.loss_lr")
_SEARCHED_PARTS = ("loss", "miner", "regulariser")


@dataclass(frozen=True, kw_only=True)
class StudyJob:
    """One method on one data set within a study."""

    study: StudySpec
    data: DataSpec
    method: MethodSpec

    @property
    def label(self) -> str:
        """What the cell is called in stores and progress."""
        return f"{self.data.label}/{self.method.label}"

    def spec(
        self,
        *,
        seed: int,
        fold: int | None = None,
        settings: Mapping[str, Value] | None = None,
        test: bool,
        unsaid: str | None = None,
    ) -> RunSpec:
        """Return one run of the cell with these settings; `test` false keeps the test split sealed.

        `unsaid` stands for what only the user can say (where the images are), in a spec that is not to be run.
        """
        study, budget = self.study, self.study.budget
        overrides = {
            **self._placed(study.overrides),
            **self._placed(self.data.words),
            **self._placed(self.method.words),
            **({"training.epochs": budget.epochs} if budget.epochs else {}),
            **({"training.batches_per_epoch": budget.batches_per_epoch} if budget.batches_per_epoch else {}),
            **self._fold_overrides(fold),
            **(settings or {}),
            "seed": seed,
        }
        spec = load_run(protocol=self.data.protocol or study.protocol, overrides=overrides, unsaid=unsaid)
        if test:
            return spec
        # A protocol that selects on the test split has no other split to be judged on.
        require(
            spec.evaluation.select_on == "validation",
            f"{self.label}: protocol {spec.protocol} selects on the test split, so nothing can be searched under it",
        )
        return replace(spec, evaluation=replace(spec.evaluation, test=False, watch_test=False))

    def _placed(self, words: Iterable[str]) -> dict[str, Value]:
        return dict(parse_override(word.replace("{data}", self.data.label)) for word in words)

    def _fold_overrides(self, fold: int | None) -> dict[str, Value]:
        folds = self.study.folds
        if fold is None or (folds.n == 1 and not folds.split):
            return {}
        named: dict[str, Value] = {"split": folds.split} if folds.split else {}
        return {**named, "split.fold": fold, "split.n_folds": folds.n}

    def ranges(self) -> dict[str, Range]:
        """Return the ranges searched, by dotted setting, in a fixed order."""
        search = self.study.search
        spec = self.spec(seed=self.study.search_seed, fold=self.study.folds.used[0], test=False, unsaid=UNSAID)
        found = _tunable(spec) if search.space == "tunable" else {}
        here = self.data.ranges.get(self.method.label, {})
        found |= {**search.ranges, **self.method.ranges}
        found |= {key: span for key, span in here.items() if span is not None}
        kept = [key for key in sorted(found) if here.get(key, found[key]) is not None]
        return {key: range_for(key, found[key], _unit_of(spec, key)) for key in kept}

    def defaults(self) -> dict[str, Value]:
        """Return the searched settings as the method's own words and defaults have them.

        One that its range does not have, such as a weight of 0 on a logarithmic scale, is left out: a run without it
        is the method's own all the same.
        """
        spec = self.spec(seed=self.study.search_seed, fold=self.study.folds.used[0], test=False, unsaid=UNSAID)
        found = {key: _value_of(spec, key) for key in self.ranges()}
        return {key: found[key] for key, span in self.ranges().items() if contains(span, found[key])}

    def search_procedure(self) -> SearchProcedure | None:
        """Return how the cell's settings are searched; None where its words say them."""
        study = self.study
        if not study.search.trials:
            return None
        return SearchProcedure(
            trials=self.n_trials(),
            sampler=study.search.sampler,
            startup=study.search.startup,
            defaults_first=study.search.defaults_first,
            pruning=study.search.pruning,
            metric=study.selection.metric,
            over=study.selection.over,
            n_folds=study.folds.n,
            folds=study.folds.used,
            ranges=self.ranges(),
        )

    def n_trials(self) -> int:
        """Return how many trials the cell has: the study's, a grid's, or one where there is nothing to search."""
        search, ranges = self.study.search, self.ranges()
        if not ranges:
            return min(search.trials, 1)
        return len(grid_of(ranges, search.trials)) if search.sampler == "grid" and search.trials else search.trials


def jobs_of(study: StudySpec) -> list[StudyJob]:
    """Return the cells of a study, data set by data set."""
    return [
        StudyJob(study=study, data=data, method=method)
        for data in study.data
        for method in study.methods
        if not method.on or data.label in method.on
    ]


def _tunable(spec: RunSpec) -> dict[str, Range]:
    found: dict[str, Range] = {}
    for part in _SEARCHED_PARTS:
        component: ComponentSpec | None = getattr(spec, part)
        if component is not None:
            spans = tunable_of(ROOM_OF[part], component.name)
            found |= {f"{part}.{key}": span for key, span in spans.items()}
    if is_learnable(spec.loss.name) and spec.loss.settings.get("learn_beta") is not False:
        found["optimiser.loss_lr"] = LOSS_RATE
    return found


def _value_of(spec: RunSpec, key: str) -> Value:
    """Return what a run has for a dotted setting; a rate that is left out is the trunk's."""
    part, _, setting = key.partition(".")
    section = getattr(spec, part)
    if isinstance(section, ComponentSpec):
        return section.settings.get(setting)
    found: Value = getattr(section, setting)
    return spec.optimiser.lr if found is None and key in _FOLLOWING_RATES else found


def _unit_of(spec: RunSpec, key: str) -> str | None:
    """Return the unit that a run states for one of its settings; None for a setting that has no unit."""
    part, _, setting = key.partition(".")
    component = getattr(spec, part, None)
    unit = component.settings.get(f"{setting}_unit") if isinstance(component, ComponentSpec) else None
    return None if unit is None else str(unit)
