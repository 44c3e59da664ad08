"""What a finished search shows: its course, its expected best, which settings matter, and which are on a bound."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairground.spec import Range, Value, end_of
from fairground.studies import Trial, direction_of, frozen


class TracePoint(NamedTuple):
    """One trial in the order of asking: its score if it is done, the best so far, and what had been spent."""

    number: int
    state: str
    score: float | None
    best: float | None
    seconds: float


def trace(trials: Sequence[Trial]) -> list[TracePoint]:
    """Return the course of a search; `seconds` adds up, so that it is also the score-against-budget curve."""
    points: list[TracePoint] = []
    best, spent = None, 0.0
    for trial in trials:
        spent += trial.seconds
        if trial.score is not None:
            better = max if trial.higher_is_better else min
            best = trial.score if best is None else better(best, trial.score)
        points.append(TracePoint(trial.number, trial.state, trial.score, best, round(spent, 3)))
    return points


def expected_best(trials: Sequence[Trial]) -> list[float]:
    """Return the mean best score of n random trials out of these, for n = 1, 2, ...: what a smaller budget would bring.

    Formula: the expected best of n draws without replacement from the finished scores (Dodge et al., EMNLP 2019,
    "Show your work", in its unbiased form).
    """
    is_higher = direction_of(trials) == "maximize"
    scores = sorted((trial.score for trial in trials if trial.score is not None), reverse=not is_higher)
    n_all = len(scores)
    curve = []
    for n in range(1, n_all + 1):
        chances = [math.comb(rank, n - 1) / math.comb(n_all, n) for rank in range(n_all)]
        curve.append(math.fsum(chance * score for chance, score in zip(chances, scores, strict=True)))
    return curve


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
