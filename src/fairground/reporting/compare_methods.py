"""By which law the methods of a table are compared: over seeds, a fixed number or in waves, over classes or both.

Runs say in their records how their seeds were found. Where all of them were given by one procedure, every look it took
is paid for, whatever metric is compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairground.comparison.compare_values import compare_values
from fairground.comparison.comparison_result import Comparison, GeneralityKind
from fairground.comparison.intervals import LEVEL
from fairground.comparison.run_scores import seed_of
from fairground.comparison.sequential import Wave, compare_in_waves
from fairground.errors import require
from fairground.reporting.class_scores import ClassScores, PerClassScores
from fairground.reporting.methods import Method
from fairground.spec.measurement_names import in_unit
from fairground.spec.procedures import SeedProcedure
from fairground.studies.final_runs import plan_of_waves, wave_of
from fairground.studies.status import WaveStatus


@dataclass(frozen=True, kw_only=True)
class MethodComparer:
    """Compares some methods by any metric; `margin` is in the unit shown. `wave` is there if seeds came in waves.

    `over` says over what verdicts hold: other trainings, other test classes (from `classes`), or both at once.
    """

    methods: Sequence[Method]
    level: float
    margin: float | None
    procedure: SeedProcedure | None
    wave: Wave | None
    waves: WaveStatus | None
    over: GeneralityKind = "seeds"
    classes: ClassScores | None = None

    @classmethod
    def for_methods(
        cls,
        methods: Sequence[Method],
        *,
        level: float = LEVEL,
        margin: float | None = None,
        over: GeneralityKind = "seeds",
        classes: ClassScores | None = None,
    ) -> "MethodComparer":
        """Return the comparer of methods by what the records of their runs say."""
        procedure = _procedure(methods)
        if procedure is None:
            return cls(
                methods=methods,
                level=level,
                margin=margin,
                procedure=None,
                wave=None,
                waves=None,
                over=over,
                classes=classes,
            )
        require(
            over == "seeds", f"runs made in waves are compared over seeds; generality must be 'seeds'; got '{over}'"
        )
        said = procedure.plan.level
        require(
            level in (LEVEL, said),
            f"these runs were made in waves at until_settled.level {said:g}, which their looks have spent: level must "
            f"stay the same; got {level:g}",
        )
        values = {method.label: method.by_seed(procedure.metric, "test") for method in methods}
        wave = _wave(methods, values, procedure)
        waves = WaveStatus.from_wave(wave, values)
        return cls(methods=methods, level=said, margin=margin, procedure=procedure, wave=wave, waves=waves)

    def can_compare(self, metric: str) -> bool:
        """Tell whether there is what a comparison by this metric needs."""
        return self.over == "seeds" or not self._per_class(metric).missing

    def compare(
        self, metric: str, values: Mapping[str, Mapping[int, float]], *, is_higher: bool, is_planned: bool
    ) -> Comparison:
        """Compare the methods by their values by seed; `is_planned` asks how many more seeds would settle a pair."""
        procedure, shown = self.procedure, self.margin
        if shown is None and procedure is not None and metric == procedure.metric:
            shown = procedure.plan.margin
        margin = None if shown is None else in_unit(metric, shown)
        if self.over != "seeds":
            found = self._per_class(metric).generality(level=self.level, margin=margin, is_higher=is_higher)
            return found.over(self.over)
        if self.wave is None:
            return compare_values(
                values, level=self.level, margin=margin, higher_is_better=is_higher, is_planned=is_planned
            )
        return compare_in_waves(values, self.wave, margin=margin, higher_is_better=is_higher)

    def _per_class(self, metric: str) -> PerClassScores:
        if self.classes is None:
            return PerClassScores(values={}, weights=np.empty(0), missing="the runs' files are not at hand")
        return self.classes.of(metric, self.methods)


def _procedure(methods: Sequence[Method]) -> SeedProcedure | None:
    """Return the procedure that all runs share; None where there is none or more than one, or nothing to compare."""
    if len(methods) < 2:
        return None
    found = {record.seed_procedure for method in methods for record in method.records}
    return found.pop() if len(found) == 1 else None


def _wave(methods: Sequence[Method], values: Mapping[str, Mapping[int, float]], procedure: SeedProcedure) -> Wave:
    records = [record for method in methods for record in method.records]
    if any("ensemble" in record.spec for record in records):
        return _of_joined_models(values, procedure)
    lost = [
        (method.label, seed_of(record))
        for method in methods
        for record in method.records
        if record.state != "done" and seed_of(record) not in values[method.label]
    ]
    said = next((record.higher_is_better(procedure.metric) for record in records if record.state == "done"), None)
    return wave_of(values, lost, procedure, is_higher=said is not False)


def _of_joined_models(values: Mapping[str, Mapping[int, float]], procedure: SeedProcedure) -> Wave:
    """Models are joined once the waves of their single ones are over: every look there was has been taken."""
    plan = plan_of_waves(procedure)
    most = max((len(seeds) for seeds in values.values()), default=0)
    given = {label: tuple(seed for seed in procedure.seeds if seed in seeds) for label, seeds in values.items()}
    n_looks = sum(n <= most for n in plan.looks)
    return Wave(comparison=None, given=given, needs={}, in_question=(), n_looks=n_looks, state="settled", plan=plan)
