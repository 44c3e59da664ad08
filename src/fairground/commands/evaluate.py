"""`fairground evaluate`: measure selected models again."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, Literal

from fairground import comparison, records, reporting, spec, studies, training
from fairground.commands import HOME, Answer, Home, counted, options, require, spinner

Split = Literal["validation", "test"]


def evaluate(
    run: Annotated[str, "RUN|STUDY", "A run or study, or the beginning of its hash."],
    split: Annotated[Split, "Classes to measure on."] = "validation",
    metrics: options.Metrics = None,
    average: options.Average = "queries",
    rerank: options.Rerank = "none",
    shots: Annotated[
        int, "Adapt the head to so many images of every test class, and measure the others.", {"min": 0}
    ] = 0,
    episodes: Annotated[int, "With --shots: how often other images are drawn.", {"min": 1}] = 10,
    steps: Annotated[int, "With --shots: training steps of an episode.", {"min": 1}] = 1000,
    ensemble: Annotated[bool, "With a study: also concatenate the fold models of each repeat (test)."] = False,
    home: Home = HOME,
    device: options.Device = "auto",
    quiet: options.Quiet = False,
) -> Answer:
    """Measure the selected model of a run, or all final models of a study.

    Examples: fairground evaluate 3f2a --split test --metrics recall@1,nmi · fairground evaluate laptop/mlrc --split
    test --ensemble
    """
    asked: dict[str, Any] = {"metrics": options.split_names(metrics) or None, "device": device}
    if shots:
        require(split == "test", "--shots shows images of the test classes: add --split test")
        how = {"shots": shots, "episodes": episodes, "steps": steps, **asked}
        return _few_shot(home, run, how, is_quiet=quiet)
    asked["rerank"] = "" if rerank == "none" else rerank
    study = studies.find_begun(home, run)
    if study is not None:
        require(average == "queries", "--average classes is for runs; name one of the study's")
        require(not ensemble or split == "test", "--ensemble joins models on the test classes: add --split test")
        return _evaluate_study(study, home, split, asked, is_joined=ensemble)
    require(not ensemble, f"--ensemble is for studies, and there is no study '{run}' in {home}")
    with spinner(f"measuring on the {split} split", is_quiet=quiet):
        name = records.resolve_run(home, run)
        scores = training.evaluate_stored(home, name, split=split, average=average, **asked)
    return Answer(scores, [f"{split} {name}  {reporting.with_unit(name, value)}" for name, value in scores.items()])


def _few_shot(home: Path, run: str, how: dict[str, Any], *, is_quiet: bool) -> Answer:
    """Adapt the head of a run, or of all final models of a study; intervals are over its episodes or the repeats."""

    def episodes_of(name: str) -> "list[training.Episode]":
        with counted("adapting", is_quiet=is_quiet) as tell:
            return training.few_shot_episodes(home, name, **how, tell=partial(tell, "adapting"))

    lines = [f"{how['shots']} images of every test class shown, {how['episodes']} times; the others before and after"]
    study = studies.find_begun(home, run)
    if study is None:
        found = episodes_of(records.resolve_run(home, run))
        return Answer([one._asdict() for one in found], lines + _gains([[one] for one in found]))
    results, answers = studies.results_so_far(study, home=home), []
    studies.Seal(records.Store(home), study).note_opening(f"heads adapted to {how['shots']} images of every class")
    for result in results:
        each = [
            (comparison.seed_of(one), one.name, episodes_of(one.name)) for one in result.runs if one.state == "done"
        ]
        repeats = records.grouped((seed, one) for seed, _, some in each for one in some)
        lines += [f"{result.job.label}  {line}" for line in _gains([*repeats.values()])]
        plain = {name: [one._asdict() for one in some] for _, name, some in each}
        answers.append({"data": result.job.data.label, "method": result.job.method.label, "runs": plain})
    return Answer(answers, lines)


def _gains(repeats: "Sequence[Sequence[training.Episode]]") -> list[str]:
    lines = []
    for metric in repeats[0][0].before if repeats else ():
        before, after = (
            [fmean(getattr(one, side)[metric] for one in some) for some in repeats] for side in ("before", "after")
        )
        gain = comparison.t_interval([new - old for old, new in zip(before, after, strict=True)])
        shown = [reporting.with_unit(metric, fmean(side)) for side in (before, after)]
        lines.append(f"{metric}  {shown[0]} -> {shown[1]}  gain {reporting.show_interval(metric, gain)}")
    return lines


def _evaluate_study(
    study: "spec.StudySpec", home: Path, split: Split, asked: dict[str, Any], *, is_joined: bool
) -> Answer:
    """Measure every repeat; `asked` are the metrics, the re-ranking and the device."""
    # Refuses while the test split is sealed: the final models exist only after selection.
    results = studies.results_so_far(study, home=home)
    if split == "test":
        why = f"evaluated again, metrics {', '.join(asked['metrics'] or ['as asked'])}"
        studies.Seal(records.Store(home), study).note_opening(why)
    found: list[tuple[studies.JobResult, dict[str, list[dict[str, float]]]]] = []
    for result in results:
        n_folds = len(result.job.study.folds.used)
        starts = range(0, len(result.runs) - n_folds + 1, n_folds)
        repeats = [result.runs[start : start + n_folds] for start in starts]
        scores = {"separated": [_scores(runs, home, split, asked) for runs in repeats]}
        if is_joined:
            scores["concatenated"] = [_joined_scores(runs, home, **asked) for runs in repeats]
        found.append((result, scores))
    lines = []
    for job, way, some in ((one.job.label, way, some) for one, scores in found for way, some in scores.items()):
        for metric in some[0] if some else ():
            span = comparison.t_interval([repeat[metric] for repeat in some])
            shown = f"{reporting.show_interval(metric, span)}{reporting.unit(metric)}"
            lines.append(f"{job}  {way}  {split} {metric}  {shown}  (n = {span.n})")
    labels = ({"data": r.job.data.label, "method": r.job.method.label, "split": split} for r, _ in found)
    return Answer([{**label, **scores} for label, (_, scores) in zip(labels, found, strict=True)], lines)


def _scores(runs: Sequence["records.RunRecord"], home: Path, split: Split, asked: dict[str, Any]) -> dict[str, float]:
    if asked["metrics"] is None and not asked["rerank"]:
        each = [{score.metric: score.value for score in run.scores if score.split == split} for run in runs]
    else:
        each = [training.evaluate_stored(home, run.name, split=split, **asked) for run in runs]
    return {metric: sum(one[metric] for one in each) / len(each) for metric in each[0]}


def _joined_scores(
    runs: Sequence["records.RunRecord"], home: Path, *, metrics: Sequence[str] | None, rerank: str, **_: str
) -> dict[str, float]:
    plain: dict[str, Any] = dict(runs[0].spec)
    if metrics is not None:
        plain["evaluation"] = {**plain["evaluation"], "metrics": list(metrics), "select_by": metrics[0]}
    if rerank:
        plain["evaluation"] = {**plain["evaluation"], "rerank": rerank}
    return dict(training.ensemble_job({"runs": [run.name for run in runs], "home": str(home), "spec": plain})["scores"])
