"""Every printed number: a study makes it, and the study's own page says whether it was reproduced."""

import dataclasses
from collections import defaultdict
from pathlib import Path

import pytest

from fairground.papers import PublishedRow, PublishedVerdict, compare_with_published, published_rows, repeats_of
from fairground.papers.expected_runs import FREE, TRAINING, ExpectedRuns, expected_runs
from fairground.reporting.study_results import from_study
from fairground.spec import UNSAID, Value
from fairground.studies.run_study import JobResult
from tests.papers.published_runs import result_of

COVERED = [row for row in published_rows() if expected_runs(row)]
STUDIES = sorted({found.study for row in COVERED for found in expected_runs(row)})


def jobs_with_rows(study: str) -> list[tuple[ExpectedRuns, list[PublishedRow]]]:
    jobs: dict[int, tuple[ExpectedRuns, list[PublishedRow]]] = {}
    for row in COVERED:
        for found in expected_runs(row):
            if found.study == study:
                jobs.setdefault(id(found), (found, []))[1].append(row)
    return list(jobs.values())


def lines_of(result: JobResult) -> dict[tuple[str, str, str], list[PublishedVerdict]]:
    """What the page of a study with this one result says of printed numbers, section by section as the page does it."""
    lines = defaultdict(list)
    runs = from_study([result], home=Path("nowhere"), title="")
    for section in runs.sections().values():
        for _, line in compare_with_published(repeats_of(section.records), {}):
            lines[line.row.table_name, line.row.row, line.row.metric].append(line)
    return lines


def found_settings(found: ExpectedRuns) -> dict[str, Value] | None:
    """Settings a search could have found: the middle of every range."""
    if not found.job.study.search.trials:
        return None
    assert found.procedure is not None
    return {key: int(s.low + s.high) // 2 or 1 for key, s in found.procedure.ranges.items()}


@pytest.mark.parametrize("study", STUDIES)
def test_the_page_of_the_study_judges_every_number_it_makes(study: str) -> None:
    for found, rows in jobs_with_rows(study):
        near = lines_of(result_of(found, rows, settings=found_settings(found)))
        away = lines_of(result_of(found, rows, away=0.06, settings=found_settings(found)))
        for row in rows:
            key = (row.table_name, row.row, row.metric)
            if row.unit == "epoch":
                continue
            assert "reproduced" in [line.outcome for line in near[key]], (row, near[key])
            assert "differs" in [line.outcome for line in away[key]], (row, away[key])
            assert "reproduced" not in [line.outcome for line in away[key]], (row, away[key])


def settings_to_change(found: ExpectedRuns) -> list[str]:
    """Settings of a job that a run could have otherwise: not what the search finds, nor what only the user can say."""
    free = {"protocol", "data", "seed", "trunk", *FREE}
    searched = found.procedure.ranges if found.procedure is not None else {}
    untrained = found.settings["training.epochs"] == "0"
    return [
        key
        for key, value in found.settings.items()
        if value != UNSAID
        and not (key in free or key in searched or key.startswith("data."))
        and not (untrained and key.partition(".")[0] in TRAINING)
        and ("." in key or not any(other.startswith(f"{key}.") for other in found.settings))
    ]


def test_one_setting_changed_is_named() -> None:
    """A different setting is changed for every job until every setting of any job was, and the page names it."""
    jobs = [job for study in STUDIES for job in jobs_with_rows(study)]
    changed: set[str] = set()
    chosen = []
    for job in jobs:
        keys = settings_to_change(job[0])
        key = next((key for key in keys if key not in changed), keys[len(chosen) % len(keys)])
        changed.add(key)
        chosen.append((job, key))
    left = {key: job for job in jobs for key in settings_to_change(job[0]) if key not in changed}
    chosen += [(job, key) for key, job in left.items()]
    assert len(changed | set(left)) > 100
    for (found, rows), key in chosen:
        result = result_of(found, rows, settings=found_settings(found), **{key: "other"})
        lines = [line for some in lines_of(result).values() for line in some]
        assert {line.outcome for line in lines} == {"not comparable"}, (found.study, key)
        # Of rows none of which fits, the page shows the nearest one.
        said = [line.sentence for line in lines]
        assert all(f"{key} is other, the paper has" in sentence for sentence in said), (found.study, key, said)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"trials": 20}, "search.trials is 20, the paper has 50"),
        ({"ranges": {}}, "the range of loss.margin is none, the paper has Real [-0.2, 2.0]"),
    ],
)
def test_another_procedure_of_search_is_named(changes: dict[str, object], why: str) -> None:
    rows = [r for r in published_rows("mlrc2020/table4", method="triplet") if r.setting == "separated"]
    found = next(found for found in expected_runs(rows[0]) if found.study == "mlrc2020/table4")
    result = result_of(found, rows, settings={"loss.margin": 0.7})
    search = dataclasses.replace(found.procedure, **changes)
    runs = tuple(dataclasses.replace(run, search=search) for run in result.runs)
    [line] = [line for lines in lines_of(result._replace(runs=runs)).values() for line in lines]
    assert line.outcome == "not comparable"
    assert why in line.sentence


def test_what_no_study_makes_is_little_and_says_why() -> None:
    missing = [row for row in published_rows() if not expected_runs(row)]
    of_mlrc = {f"mlrc2020/{name}" for name in ("table3", "hyperparameters", "reported-contrastive", "reported-triplet")}
    assert {row.table_name for row in missing} == {"roth2020/table3", *of_mlrc}
    assert all(not row.method for row in missing if row.table_name == "roth2020/table3")
    assert len(published_rows()) - len(missing) == 1526
