"""What a finished search shows: its course, which settings matter, and which are on a bound."""

import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairground.spec import Range, Value, end_of
from fairground.studies import Trial, direction_of, frozen


class TracePoint(NamedTuple):
    """One trial in the order of asking: its score if it is done, and the best so far."""

    number: int
    score: float | None
    best: float | None


def trace(trials: Sequence[Trial]) -> list[TracePoint]:
    points: list[TracePoint] = []
    best = None
    for trial in trials:
        if trial.score is not None:
            better = max if trial.higher_is_better else min
            best = trial.score if best is None else better(best, trial.score)
        points.append(TracePoint(trial.number, trial.score, best))
    return points


def importance(ranges: Mapping[str, Range], trials: Sequence[Trial]) -> dict[str, float]:
    """Return each setting's share of what explains a good score (PED-ANOVA), largest first; nothing from few trials."""
    done = [trial for trial in trials if trial.state == "done"]
    if len(done) < 4 or len({trial.score for trial in done}) < 2:
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction=direction_of(done))
        study.add_trials([frozen(ranges, trial) for trial in done])
        evaluator = optuna.importance.PedAnovaImportanceEvaluator()
        found = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {key: float(share) for key, share in found.items()}


def on_bounds(ranges: Mapping[str, Range], settings: Mapping[str, Value]) -> list[str]:
    ends = {key: end for key, span in ranges.items() if (end := end_of(span, settings.get(key)))}
    advice = "the optimum may be outside; widen it"
    return [f"{key} = {settings[key]} is on the {end} bound of its range: {advice}" for key, end in ends.items()]
