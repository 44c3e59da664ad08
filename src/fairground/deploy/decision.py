"""Known or unknown, and which class: a decision about each query whose error rate is stated and measured."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairground.deploy.index import Index
from fairground.deploy.open_set import OpenSetTrials, Tell, trials_of
from fairground.errors import DataError, InputError, require

#: the share of queries of unknown classes that may be taken for known ones, unless another is asked for
FPIR = 0.05


@dataclass(frozen=True, kw_only=True)
class DecisionRule:
    """From which similarity on a query is taken for a known class; `why_not` says why there is no threshold.

    `fpir` is the rate asked for, None for a similarity of the user's own or no decision at all.
    """

    n_rows: int
    threshold: float | None = None
    fpir: float | None = None
    trials: OpenSetTrials | None = None
    why_not: str = ""

    @cached_property
    def measured_fpir(self) -> tuple[float, float, float] | None:
        """The rate at which left-out classes pass at the rate asked for, with the ends of its interval over classes."""
        if self.trials is None or self.fpir is None:
            return None
        conformal = self.trials.conformal
        rate, interval = conformal.measured_rate(self.fpir), conformal.measured(self.fpir)
        if rate == 0:
            # Drawing from zeros gives zeros. Of K rates in [0, 1] with mean m all are 0 with a chance of (1 - m)^K.
            return 0.0, 0.0, 1 - ((1 - interval.confidence) / 2) ** (1 / conformal.n_classes)
        return rate, max(0.0, interval.low), interval.high

    def sentence(self) -> str:
        """Say what is decided, what is promised and what was measured."""
        if self.threshold is None:
            return f"No decision between known and unknown: {self.why_not}."
        if self.trials is None:
            return (
                f"A class is named from similarity {self.threshold:.4f} on, as asked. How many pictures of unknown "
                f"classes pass is not known: {self.why_not}."
            )
        return f"{self._promise()} {self._identified()}".rstrip()

    def _promise(self) -> str:
        assert self.trials is not None
        conformal = self.trials.conformal
        if self.fpir is None or self.measured_fpir is None:
            passing = float(conformal.p_value(np.array([self.threshold]))[0])
            return (
                f"A class is named from similarity {self.threshold:.4f} on, as asked: at most {100 * passing:.1f} % of "
                f"pictures of unknown classes pass in this index of {self.n_rows:,} rows "
                f"({conformal.n_classes} classes, each left out in turn)."
            )
        rate, low, high = self.measured_fpir
        return (
            f"At most {100 * self.fpir:g} % of pictures of unknown classes are given a class of this index of "
            f"{self.n_rows:,} rows, on average over classes of the same kind "
            f"(similarity from {self.threshold:.4f} on). "
            f"Measured on {conformal.n_classes} classes, each left out in turn: {100 * rate:.1f} % "
            f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)."
        )

    def _identified(self) -> str:
        assert self.trials is not None
        assert self.threshold is not None
        found = self.trials.identified(self.threshold)
        if found is None:
            return ""
        value, interval = found
        low, high = max(0.0, interval.low), min(1.0, interval.high)
        return (
            f"Of pictures of indexed classes {100 * value:.0f} % get their class "
            f"(95 % interval {100 * low:.0f} to {100 * high:.0f} %)."
        )


def rule_of(
    index: Index, *, fpir: float = FPIR, threshold: float | None = None, tell: Tell = lambda *_: None
) -> DecisionRule:
    """Return the rule that lets at most `fpir` of unknown queries pass, or that of a similarity of one's own."""
    require(0 < fpir < 1, f"the share of unknown pictures that may pass must be between 0 and 1; got {fpir:g}")
    require(threshold is None or bool(np.isfinite(threshold)), f"a similarity must be a number; got {threshold}")
    try:
        trials = trials_of(index, tell)
    except (InputError, DataError) as error:
        return DecisionRule(n_rows=len(index), threshold=threshold, why_not=str(error))
    if threshold is not None:
        return DecisionRule(n_rows=len(index), threshold=threshold, trials=trials)
    conformal = trials.conformal
    found = conformal.threshold(fpir)
    if found is None:
        n, lowest = conformal.n_classes, conformal.lowest_rate
        needed = int(np.ceil(1 / fpir - 1 - 1e-9))
        return DecisionRule(
            n_rows=len(index),
            why_not=f"{n} {'class' if n == 1 else 'classes'} that the model was not trained on can promise a rate of "
            f"{100 * lowest:.1f} % at the lowest, and {100 * fpir:g} % takes {needed} classes; ask for more with "
            f"--fpir {np.ceil(1000 * lowest) / 10:g}",
        )
    return DecisionRule(n_rows=len(index), threshold=found, fpir=fpir, trials=trials)
