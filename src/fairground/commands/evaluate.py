"""`fairground evaluate RUN|STUDY`: measure selected models again, with other metrics, on another split, or joined."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from fairground.commands.options import HOME, AsJson, Home, kept_for_json

if TYPE_CHECKING:
    from fairground.spec.study import StudySpec
    from fairground.studies.run_study import JobResult

Split = Literal["validation", "test"]


def evaluate(
    run: Annotated[str, typer.Argument(metavar="RUN|STUDY", help="Its name, or enough of its hash.")],
    split: Annotated[Split, typer.Option("--split", help="Which classes to measure on.")] = "validation",
    metrics: Annotated[str | None, typer.Option("--metrics", "-m", help="Which metrics, with commas.")] = None,
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="Of a study: also join the fold models of each repeat (on test).")
    ] = False,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Measure the selected model of a run, or all final models of a study. Test classes stay sealed until selection.

    Examples: fairground evaluate 3f2a --split test --metrics recall@1,nmi · fairground evaluate laptop/mlrc --split
    test --ensemble
    """
    from fairground.commands.progress import spinner
    from fairground.errors import require
    from fairground.records.run_folder import resolve_run
    from fairground.reporting.headings import with_unit
    from fairground.studies.folder import find_begun
    from fairground.training.stored_run import evaluate_stored

    asked = [name.strip() for name in metrics.split(",") if name.strip()] if metrics else None
    study = find_begun(home, run)
    if study is not None:
        require(not ensemble or split == "test", "--ensemble joins models on the test classes: add --split test")
        _evaluate_study(study, home, split=split, metrics=asked, is_joined=ensemble, as_json=as_json)
        return
    require(not ensemble, f"--ensemble is for studies, and there is no study '{run}' in {home}")
    with kept_for_json(as_json), spinner(f"measuring on the {split} split", is_quiet=as_json):
        scores = evaluate_stored(home, resolve_run(home, run), split=split, metrics=asked)
    if as_json:
        print(json.dumps(scores))
        return
    for name, value in scores.items():
        print(f"{split} {name}  {with_unit(name, value)}")


def _evaluate_study(
    study: "StudySpec", home: Path, *, split: Split, metrics: Sequence[str] | None, is_joined: bool, as_json: bool
) -> None:
    from fairground.records.store import Store
    from fairground.reporting.headings import with_unit
    from fairground.studies.select import Seal
    from fairground.studies.status import results_so_far

    # Refuses while the test split is sealed: the final models exist only after selection.
    results = results_so_far(study, home=home)
    if split == "test":
        Seal(Store(home), study).note_opening(f"evaluated again, metrics {', '.join(metrics or ['as asked'])}")
    found: list[tuple[JobResult, dict[str, list[dict[str, float]]]]] = []
    with kept_for_json(as_json):
        for result in results:
            scores = {"separated": _separate_scores(result, home, split, metrics)}
            if is_joined:
                scores["concatenated"] = _joined_scores(result, home, metrics)
            found.append((result, scores))
    if as_json:
        labels = ({"data": r.job.data.label, "method": r.job.method.label, "split": split} for r, _ in found)
        print(json.dumps([{**label, **scores} for label, (_, scores) in zip(labels, found, strict=True)]))
        return
    from fairground.reporting.study_results import intervals_of

    intervals = intervals_of(found)
    for result, scores in found:
        for how in scores:
            for metric, span in intervals[result.job.label, how].items():
                spread = "" if span.half_width is None else f" ± {with_unit(metric, span.half_width)}"
                mean = with_unit(metric, span.mean)
                print(f"{result.job.label}  {how}  {split} {metric}  {mean}{spread}  (n = {span.n})")


def _separate_scores(
    result: "JobResult", home: Path, split: Split, metrics: Sequence[str] | None
) -> list[dict[str, float]]:
    """Return each repeat's scores, averaged over its folds."""
    from fairground.training.stored_run import evaluate_stored

    n_folds = len(result.job.study.folds.used)
    found = []
    for start in range(0, len(result.runs) - n_folds + 1, n_folds):
        runs = result.runs[start : start + n_folds]
        if metrics is None:
            each = [{s.metric: s.value for s in run.scores if s.split == split} for run in runs]
        else:
            each = [evaluate_stored(home, run.name, split=split, metrics=metrics) for run in runs]
        found.append({metric: sum(one[metric] for one in each) / len(each) for metric in each[0]})
    return found


def _joined_scores(result: "JobResult", home: Path, metrics: Sequence[str] | None) -> list[dict[str, float]]:
    """Return each repeat's scores with its fold models joined."""
    from fairground.training.stored_run import ensemble_job

    n_folds = len(result.job.study.folds.used)
    found = []
    for start in range(0, len(result.runs) - n_folds + 1, n_folds):
        runs = result.runs[start : start + n_folds]
        spec: dict[str, Any] = dict(runs[0].spec)
        if metrics is not None:
            spec["evaluation"] = {**spec["evaluation"], "metrics": list(metrics), "select_by": metrics[0]}
        argument = {"runs": [run.name for run in runs], "home": str(home), "spec": spec}
        found.append(dict(ensemble_job(argument)["scores"]))
    return found
