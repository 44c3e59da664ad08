"""`fairground reproduce`: repeat a run, a study or a recommendation."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from fairground import records, reporting, studies
from fairground.commands import Answer, Verbatim, options, options_of, run_directory, run_specs, study_answer
from fairground.reporting import table_formats
from fairground.spec import FairgroundError, require, run_from_plain


@options_of(options.executor_of)
def reproduce(
    what: Annotated[str, "WHAT", "A run, a study or a recommendation, by name or enough of its hash."],
    repeats: Annotated[int, "Number of fresh seeds.", {"min": 1}] = 10,
    home: run_directory.Home = run_directory.HOME,
    quiet: options.Quiet = False,
    **executor: Any,
) -> Answer:
    """Repeat a run, or the selected settings of a study, on fresh seeds; finished runs are not repeated.

    A study's search is not repeated: its winners are, and its tables then count so many repeats. The model of a
    recommendation is made again from its plan with the same seed: its weights must be bit-identical.

    Examples: fairground reproduce 3f2a --repeats 5 · fairground reproduce laptop/mlrc --repeats 10
    """
    from fairground.recommendation.recommendation_folder import find_plan

    plan = find_plan(home, what)
    if plan is not None:
        from fairground.recommendation.recommendation import remake_model

        name, (wanted, found) = plan.parent.name, remake_model(plan)
        is_same = wanted == found
        same = "the weights are bit-identical" if is_same else "the weights differ: another machine rounds otherwise"
        line = f"recommendation {name} made again: {same} ({found[:16]})"
        plain = {"name": name, "is_same": is_same, "weights_sha256": found}
        return Answer(plain, [line], exit_code=0 if is_same else 1)
    spawn = options.executor_of(**executor)
    study = studies.find_begun(home, what)
    if study is None:
        return _repeated(what, repeats, spawn, home, quiet=quiet)
    waves = f"study {study.name} adds seeds in waves (until_settled) and has no number of repeats"
    require(study.until_settled is None, f"{waves}: `fairground study resume {study.name}` goes on with it")
    return study_answer(replace(study, repeats=max(repeats, study.repeats)), spawn, home=home, quiet=quiet)


def _repeated(name: str, n_repeats: int, spawn: options.Spawn, home: Path, *, quiet: bool) -> Answer:
    first = records.Store(home).get(name)
    records.own_run(first.name)
    spec = run_from_plain(dict(first.spec))
    specs = [replace(spec, seed=spec.seed + 1 + repeat) for repeat in range(n_repeats)]
    repeats = run_specs(specs, spawn, home, quiet=quiet)
    is_any = any(record.state == "done" for record in repeats)
    require(is_any, "none of the repeats finished: " + str(repeats[0].failure), FairgroundError)
    table = reporting.ResultTable.from_records(repeats)
    cells = table.rows[0].cells
    compared = {metric: (first.score(metric, table.split), cells[metric].values) for metric in table.metrics}
    lines: list[str] = [Verbatim(table_formats.text(table).removesuffix("\n"))]
    for metric, (value, values) in compared.items():
        if value is not None and values:
            above = f"above {sum(other < value for other in values)} of {len(values)} fresh seeds"
            scored = f"the run scored {reporting.with_unit(metric, value)}"
            lines.append(f"{table.split} {metric}: {scored}, {above}")
    plain = {metric: {"run": value, "repeats": list(values)} for metric, (value, values) in compared.items()}
    return Answer({"run": first.name, "repeats": [record.name for record in repeats], "scores": plain}, lines)
