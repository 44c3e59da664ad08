"""The search of one job: ask a wave of trials, run their folds, stop hopeless ones, write down how each ended.

A wave is a fixed number of trials, asked with all earlier waves in view and none of its own results, and ended in
order of their numbers. Nothing here sees which run finished first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from fairground.records.record import RunRecord
from fairground.spec.identity import name_of
from fairground.spec.measurement_names import goodness
from fairground.spec.run import RunSpec
from fairground.spec.study import StudyJob
from fairground.studies.scheduler import Request, Requests
from fairground.studies.suggest import suggest
from fairground.studies.trials import Trial, TrialState, TrialStore

#: so many finished trials make a median worth trusting
LEAST_FINISHED = 3


def search(job: StudyJob, trial_store: TrialStore) -> "Requests[list[Trial]]":
    """Request the runs of all trials of a job, wave by wave, and return the trials."""
    n_trials, ranges, plan = job.n_trials(), job.ranges(), job.study.search
    for start in range(0, n_trials, plan.wave):
        trials = trial_store.trials(job.label)
        for _ in range(len(trials), min(start + plan.wave, n_trials)):
            known = [*trials[:start], *(replace(trial, state="asked", folds={}) for trial in trials[start:])]
            settings = suggest(
                ranges,
                known,
                sampler=plan.sampler,
                startup=plan.startup,
                seed=job.study.seed,
                label=job.label,
                n_trials=n_trials,
                defaults=job.defaults() if plan.defaults_first else None,
            )
            trials.append(Trial(number=len(trials), settings=settings))
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
    wave = [replace(trial, state="pruned") if _is_hopeless(trial, earlier) else trial for trial in wave]
    if n_first < len(folds):
        wave = yield from _run_folds(job, wave, folds[n_first:])
    return [replace(trial, state="done") if trial.state == "asked" else trial for trial in wave]


def _run_folds(job: StudyJob, wave: Sequence[Trial], folds: Sequence[int]) -> "Requests[list[Trial]]":
    """Run these folds of every trial that is still open, and return the wave with what they brought."""
    seed = job.study.seed
    specs: dict[tuple[int, int], RunSpec] = {
        (trial.number, fold): job.spec(seed=seed, fold=fold, settings=trial.settings, test=False)
        for trial in wave
        if trial.state == "asked"
        for fold in folds
    }
    if not specs:
        return list(wave)
    records = yield Request(specs=list(specs.values()))
    names = {key: name_of(spec) for key, spec in specs.items()}
    updated = []
    for trial in wave:
        for fold in folds if trial.state == "asked" else ():
            record = records[names[trial.number, fold]]
            trial = _with_fold(trial, fold, record, job.study.selection.metric)  # noqa: PLW2901
        updated.append(trial)
    return updated


def _with_fold(trial: Trial, fold: int, record: RunRecord, metric: str) -> Trial:
    """Return the trial with one more fold. The first fold that did not finish decides how the trial ends."""
    trial = replace(trial, seconds=trial.seconds + record.provenance.wall_seconds)
    score = record.score(metric, "validation")
    if record.state == "done" and score is not None:
        is_higher = record.higher_is_better(metric) is not False
        return replace(trial, folds={**trial.folds, fold: score}, higher_is_better=is_higher)
    if trial.state != "asked":
        return trial
    if record.state == "done":
        return replace(trial, state="failed", failure=f"fold {fold} has no validation score '{metric}'")
    how: TrialState = "diverged" if record.state == "diverged" else "failed"
    return replace(trial, state=how, failure=f"fold {fold}: {record.failure}")


def _is_hopeless(trial: Trial, earlier: Sequence[Trial]) -> bool:
    """Tell whether a trial is worse than the median of finished trials on each of the folds it has run."""
    done = [other for other in earlier if other.state == "done"]
    if trial.state != "asked" or len(done) < LEAST_FINISHED:
        return False
    medians: Mapping[int, float] = {fold: median(other.folds[fold] for other in done) for fold in trial.folds}
    return all(
        goodness(score, trial.higher_is_better) < goodness(medians[fold], trial.higher_is_better)
        for fold, score in trial.folds.items()
    )
