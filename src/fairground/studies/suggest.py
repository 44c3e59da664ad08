"""The next settings to try: a function of the ranges, the trials so far and the seed, and of nothing else.

Optuna's samplers keep a stream of random numbers that a kill would lose, and learn in the order in which results come
in. Here every suggestion rebuilds a small study in memory from the trials that count and seeds the sampler by the
trial's number, so that inline, parallel and resumed searches ask the same questions.
"""

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from fairground.spec.settings import Value
from fairground.spec.space import Choice, Integer, LogReal, Range, Real, grid_of
from fairground.studies.trials import Trial, TrialState

if TYPE_CHECKING:
    import optuna

Sampler = Literal["gp", "tpe", "random", "grid"]
#: settings are rounded: nobody can tell them apart beyond, and a table can print them whole
DIGITS = 6


def suggest(
    ranges: Mapping[str, Range],
    trials: Sequence[Trial],
    *,
    sampler: Sampler,
    startup: int,
    seed: int,
    label: str,
    n_trials: int,
    defaults: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return the settings of the next trial of `n_trials`; unfinished `trials` count as under way.

    `defaults`, where given, are the first trial, and Sobol points follow.
    """
    number = len(trials)
    if not ranges:
        return {}
    if sampler == "grid":
        return grid_of(ranges, n_trials)[number]
    if number < startup:
        if defaults is not None and number == 0:
            return dict(defaults)
        return _sobol(ranges, number - (defaults is not None), _seed(seed, label, "sobol"))
    if sampler == "random":
        return _uniform(ranges, _seed(seed, label, number))
    return _model(ranges, trials, sampler, _seed(seed, label, number))


def direction_of(trials: Sequence[Trial]) -> Literal["maximize", "minimize"]:
    """Return which way the trials' scores are better, in Optuna's words."""
    return "maximize" if all(trial.higher_is_better for trial in trials) else "minimize"


def distributions(ranges: Mapping[str, Range]) -> "dict[str, optuna.distributions.BaseDistribution]":
    """Return the ranges in Optuna's words."""
    return {key: _distribution(span) for key, span in ranges.items()}


def _distribution(span: Range) -> "optuna.distributions.BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(span, Choice):
        return CategoricalDistribution(span.options)
    if isinstance(span, Integer):
        return IntDistribution(span.low, span.high)
    return FloatDistribution(span.low, span.high, log=isinstance(span, LogReal))


def _seed(*words: object) -> int:
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


def _sobol(ranges: Mapping[str, Range], number: int, seed: int) -> dict[str, Value]:
    # Imported here: scipy.stats takes longer to import than most commands take to run.
    from scipy.stats import qmc

    sequence = qmc.Sobol(d=len(ranges), scramble=True, seed=seed)
    if number:
        sequence.fast_forward(number)
    return _placed(ranges, sequence.random(1)[0].tolist())


def _uniform(ranges: Mapping[str, Range], seed: int) -> dict[str, Value]:
    import numpy as np

    return _placed(ranges, np.random.default_rng(seed).random(len(ranges)).tolist())


def _placed(ranges: Mapping[str, Range], point: Sequence[float]) -> dict[str, Value]:
    return {key: _at(span, share) for (key, span), share in zip(ranges.items(), point, strict=True)}


def _at(span: Range, share: float) -> Value:
    """Return the value a `share` in [0, 1) of the way through a range."""
    if isinstance(span, Choice):
        return span.options[int(share * len(span.options))]
    if isinstance(span, Integer):
        return span.low + int(share * (span.high - span.low + 1))
    if isinstance(span, LogReal):
        return _rounded(span, math.exp(math.log(span.low) + share * math.log(span.high / span.low)))
    return _rounded(span, span.low + share * (span.high - span.low))


def _rounded(span: Real | LogReal, value: float) -> float:
    return min(max(float(f"{value:.{DIGITS}g}"), float(span.low)), float(span.high))


def _model(ranges: Mapping[str, Range], trials: Sequence[Trial], sampler: Sampler, seed: int) -> dict[str, Value]:
    """Return what a model of the trials would try next; defaults outside the ranges have no place in it."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kind = optuna.samplers.GPSampler if sampler == "gp" else optuna.samplers.TPESampler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(direction=direction_of(trials), sampler=kind(n_startup_trials=1, seed=seed))
        placed = [trial for trial in trials if trial.settings.keys() == ranges.keys()]
        study.add_trials([frozen(ranges, trial) for trial in _as_taught(placed, sampler)])
        params = study.ask(distributions(ranges)).params
    spans = {key: (ranges[key], params[key]) for key in ranges}
    return {key: _rounded(span, at) if isinstance(span, Real | LogReal) else at for key, (span, at) in spans.items()}


def _as_taught(trials: Sequence[Trial], sampler: Sampler) -> list[Trial]:
    """Return the trials as the sampler's model sees them: where training diverged is a place to stay away from.

    That is between the model and its next question; the trial itself keeps its state and has no score. TPE ranks what
    was pruned without a value behind all others; a Gaussian process needs a value, the worst that was seen.
    """
    scores = [trial.score for trial in trials if trial.score is not None]
    if not scores:
        return list(trials)
    stand_in: TrialState = "done" if sampler == "gp" else "pruned"
    worst = min(scores) if direction_of(trials) == "maximize" else max(scores)
    folds = {0: worst} if sampler == "gp" else {}
    return [replace(t, state=stand_in, folds=folds) if t.state == "diverged" else t for t in trials]


def frozen(ranges: Mapping[str, Range], trial: Trial) -> "optuna.trial.FrozenTrial":
    """Return a trial in Optuna's words; a diverged or failed one has no value, so no sampler can mistake it for bad."""
    import optuna

    states = {
        "asked": optuna.trial.TrialState.RUNNING,
        "done": optuna.trial.TrialState.COMPLETE,
        "pruned": optuna.trial.TrialState.PRUNED,
    }
    folds = list(trial.folds.values())
    return optuna.trial.create_trial(
        state=states.get(trial.state, optuna.trial.TrialState.FAIL),
        value=trial.score,
        params=dict(trial.settings),
        distributions=distributions({key: span for key, span in ranges.items() if key in trial.settings}),
        # What Optuna sees of a fold is the mean so far, which is what its samplers compare.
        intermediate_values={step: math.fsum(folds[: step + 1]) / (step + 1) for step in range(len(folds))},
    )
