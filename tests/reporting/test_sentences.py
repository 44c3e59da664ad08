"""Headlines, notes, verdicts and the text of a study: what each says, and when."""

from dataclasses import replace

import pytest

from fairground.records.record import Finding
from fairground.reporting import ResultTable, StudyTable, compare_records, confidence_of, headline_of, notes_of
from fairground.spec import load_study
from tests.records.factory import make_provenance, make_record
from tests.reporting.fixtures import make_study
from tests.reporting.test_result_table import runs


def headline(*groups) -> str:
    return headline_of(ResultTable.from_records([run for group in groups for run in group]))


def notes(records) -> list[str]:
    return [note.text for note in notes_of(ResultTable.from_records(records))]


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([runs("a", 0.50, 0.51, 0.52), runs("b", 0.30, 0.31, 0.32)], "b with 31.00 ± 2.51 %, 20.00 points behind."),
        ([runs("a", 0.50, 0.51, 0.52), runs("b", 0.30, 0.31, 0.32)], "a is best: MAP@R 51.00 ± 2.51 % over 3 seeds; "),
        (
            [runs("a", 0.50, 0.51, 0.52), runs("b", 0.44, 0.48, 0.52), runs("c", 0.1, 0.11, 0.12)],
            "a has the highest mean, MAP@R 51.00 ± 5.63 % over 3 seeds; b is not significantly different from it.",
        ),
        ([runs("a", 0.9), runs("b", 0.1, 0.2)], "MAP@R 90.00 %, but one seed cannot tell a better method from a lucky"),
        ([runs("a", 0.5, 0.5)], "a reaches MAP@R 50.00 ± 0.00 % over 2 seeds."),
        ([[make_record(state="failed")]], "No run has finished, so there is no result yet."),
    ],
)
def test_the_headline_says_no_more_than_was_found(groups, said):
    assert said in headline(*groups)


def test_a_clean_study_has_no_warnings_and_repeats_what_all_runs_noted_once():
    study = [replace(run, notes=("lone queries are left out",)) for run in make_study()]
    assert notes(study) == ["lone queries are left out"]
    some = [replace(study[0], notes=("a batch was filled up",)), *(replace(run, notes=()) for run in study[1:])]
    assert notes(some) == ["a batch was filled up (1 of 12 runs)"]


def test_lost_runs_and_runs_given_twice_are_warned_of():
    lost = [*runs("a", 0.5, 0.6), make_record(loss="a", seed=2, state="diverged")]
    assert "a, seed 2: diverged. the run diverged at step 17" in notes(lost)
    run = make_record()
    assert notes([run, run, make_record(seed=1)]) == [f"Counted more than once: run {run.name}."]


def test_what_the_doctor_found_is_a_warning_of_its_method():
    found = Finding(sign="stuck_at_margin", epoch=2, step=40, sentence="the loss stands", remedy="lower the rate")
    ill, well = (make_record(seed=seed) for seed in (0, 1))
    said = notes_of(ResultTable.from_records([replace(ill, findings=(found,)), well]))
    warning = next(note for note in said if "margin in" in note.text)
    assert warning.is_warning
    assert warning.text.endswith(": stuck at margin in 1 of 2 runs. the loss stands. Try: lower the rate.")


def confidence(*groups):
    records = [run for group in groups for run in group]
    table = compare_records(records)
    return table, confidence_of(table)


def test_one_method_or_one_seed_has_no_chances():
    assert confidence(runs("a", 0.5, 0.6))[1] is None
    _, found = confidence(runs("a", 0.5), runs("b", 0.4))
    assert found["how_to_read"] == "By MAP@R; single runs have no interval"
    assert found["chances"] == []
    assert found["sentences"] == ["a and b: not settled; a verdict needs at least two runs of each"]


def table_of(*records) -> StudyTable:
    names = {record.method: record.spec["loss"]["name"] for record in records}
    study = load_study("tiny")
    return StudyTable(study=study, title="icons", data="icons", is_joined=False, records=records, names=names)


def test_what_to_bear_in_mind_stands_under_the_table():
    records = [make_record(loss=loss, seed=seed) for loss in ("triplet", "margin") for seed in range(3)]
    assert "Caveats" not in table_of(*records).text()
    other = make_record(loss="margin", seed=2, provenance=make_provenance(threads=2))
    text = table_of(*records[:-1], other).text(width=120)
    assert "Caveats:\n  threads: Not run with the same number of threads: " in text
    assert max(map(len, text.splitlines())) <= 120


def test_a_table_without_a_finished_run_says_nothing_of_scores():
    failed = [make_record(loss=loss, state="failed") for loss in ("triplet", "margin")]
    text = table_of(*failed).text()
    assert text.endswith("No run has finished, so there is no score.\n")
    assert "seeds" not in text
