"""The search of one job: suggest a wave of trials, run their folds, stop hopeless ones, write down how each ended.

A wave is a fixed number of trials, asked with all earlier waves in view. A suggestion is a function of the ranges, the
trials so far and the seed alone, so that inline, parallel and resumed searches ask the same questions.
"""

import hashlib
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Literal

from fairground.records.record import RunRecord
from fairground.spec import Choice, Integer, LogReal, Range, Real, SearchProcedure, StudyJob, Value, grid_of, name_of
from fairground.spec.search_ranges import rounded, value_at
from fairground.studies import Request, Requests, Trial, TrialState, TrialStore, is_hopeless

if TYPE_CHECKING:
    import optuna


def search(job: StudyJob, trial_store: TrialStore) -> "Requests[list[Trial]]":
    n_trials, plan = job.n_trials(), job.study.search
    for start in range(0, n_trials, plan.wave):
        trials = trial_store.trials(job.label)
        for _ in range(len(trials), min(start + plan.wave, n_trials)):
            known = [*trials[:start], *(replace(trial, state="asked", folds={}) for trial in trials[start:])]
            trials.append(Trial(number=len(trials), settings=next_settings(job, known)))
            trial_store.write(job.label, trials[-1])
        wave = [trial for trial in trials[start : start + plan.wave] if trial.state == "asked"]
        ended = yield from _run_wave(job, wave, trials[:start])
        for trial in ended:
            trial_store.write(job.label, trial)
    return trial_store.trials(job.label)


def _run_wave(job: StudyJob, wave: Sequence[Trial], earlier: Sequence[Trial]) -> "Requests[list[Trial]]":
    plan, folds = job.study.search, job.study.folds.used
    n_first = plan.prune_after if plan.pruning != "none" else len(folds)
    wave = yield from _run_folds(job, wave, folds[:n_first])
    wave = [replace(trial, state="pruned") if is_hopeless(trial, earlier) else trial for trial in wave]
    if n_first < len(folds):
        wave = yield from _run_folds(job, wave, folds[n_first:])
    return [replace(trial, state="done") if trial.state == "asked" else trial for trial in wave]


def _run_folds(job: StudyJob, wave: Sequence[Trial], folds: Sequence[int]) -> "Requests[list[Trial]]":
    """Run these folds of every trial that is still open, and return the wave with what they brought."""
    runs, seed = product([trial for trial in wave if trial.state == "asked"], folds), job.study.seed
    specs = {(t.number, fold): job.spec(seed=seed, fold=fold, settings=t.settings, test=False) for t, fold in runs}
    if not specs:
        return list(wave)
    records = yield Request(specs=list(specs.values()))
    updated = {trial.number: trial for trial in wave}
    for (number, fold), spec in specs.items():
        updated[number] = _with_fold(updated[number], fold, records[name_of(spec)], job.study.selection.metric)
    return list(updated.values())


def _with_fold(trial: Trial, fold: int, record: RunRecord, metric: str) -> Trial:
    """Return the trial with one more fold. The first fold that did not finish decides how the trial ends."""
    trial = replace(trial, seconds=trial.seconds + record.provenance.wall_seconds)
    score = record.score(metric, "validation")
    if record.state == "done" and score is not None:
        is_higher = record.higher_is_better(metric) is not False
        return replace(trial, folds={**trial.folds, fold: score}, higher_is_better=is_higher)
    if trial.state != "asked":
        return trial
    how: TrialState = "diverged" if record.state == "diverged" else "failed"
    why = f" has no validation score '{metric}'" if record.state == "done" else f": {record.failure}"
    return replace(trial, state=how, failure=f"fold {fold}{why}")


def next_settings(job: StudyJob, trials: Sequence[Trial]) -> dict[str, Value]:
    """Return the settings of a job's next trial; unfinished `trials` count as under way."""
    procedure = job.search_procedure()
    assert procedure is not None
    defaults = job.defaults() if procedure.defaults_first else None
    return suggest(procedure, trials, seed=job.study.seed, label=job.label, defaults=defaults)


def suggest(
    procedure: SearchProcedure,
    trials: Sequence[Trial],
    *,
    seed: int,
    label: str,
    defaults: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Return the settings of the next trial: `defaults`, where given, and Sobol points first, then the sampler's."""
    number, ranges = len(trials), procedure.ranges
    if not ranges:
        return {}
    if procedure.sampler == "grid":
        return grid_of(ranges, procedure.trials)[number]
    if number < procedure.startup:
        if defaults is not None and number == 0:
            return dict(defaults)
        return _sobol(ranges, number - (defaults is not None), _seed(seed, label, "sobol"))
    if procedure.sampler == "random":
        import numpy as np

        return _placed(ranges, np.random.default_rng(_seed(seed, label, number)).random(len(ranges)).tolist())
    return _model(ranges, trials, procedure.sampler, _seed(seed, label, number))


def direction_of(trials: Sequence[Trial]) -> Literal["maximize", "minimize"]:
    return "maximize" if all(trial.higher_is_better for trial in trials) else "minimize"


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


def _placed(ranges: Mapping[str, Range], point: Sequence[float]) -> dict[str, Value]:
    return {key: value_at(span, share) for (key, span), share in zip(ranges.items(), point, strict=True)}


def _model(ranges: Mapping[str, Range], trials: Sequence[Trial], sampler: str, seed: int) -> dict[str, Value]:
    """Return what a model of the trials would try next; defaults outside the ranges have no place in it."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kind = optuna.samplers.GPSampler if sampler == "gp" else optuna.samplers.TPESampler
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(direction=direction_of(trials), sampler=kind(n_startup_trials=1, seed=seed))
        placed = [trial for trial in trials if trial.settings.keys() == ranges.keys()]
        study.add_trials([frozen(ranges, trial) for trial in _as_taught(placed, sampler)])
        params = study.ask({key: _distribution(span) for key, span in ranges.items()}).params
    spans = {key: (ranges[key], params[key]) for key in ranges}
    return {key: rounded(span, at) if isinstance(span, Real | LogReal) else at for key, (span, at) in spans.items()}


def _as_taught(trials: Sequence[Trial], sampler: str) -> list[Trial]:
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
    """Return a trial for Optuna; a diverged or failed one has no value, so that no sampler takes it for bad."""
    from optuna.trial import TrialState as State
    from optuna.trial import create_trial

    states = {"asked": State.RUNNING, "done": State.COMPLETE, "pruned": State.PRUNED}
    folds = list(trial.folds.values())
    return create_trial(
        state=states.get(trial.state, State.FAIL),
        value=trial.score,
        params=dict(trial.settings),
        distributions={key: _distribution(span) for key, span in ranges.items() if key in trial.settings},
        # What Optuna sees of a fold is the mean so far, which is what its samplers compare.
        intermediate_values={step: math.fsum(folds[: step + 1]) / (step + 1) for step in range(len(folds))},
    )
