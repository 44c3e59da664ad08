"""A study's table in the terminal says what its page and a comparison say."""

from fairground.reporting.study_results import StudyTable
from tests.records.factory import make_provenance, make_record


def table_of(*records) -> StudyTable:
    names = {record.method: record.spec["loss"]["name"] for record in records}
    return StudyTable(title="icons", data="icons", is_joined=False, records=records, names=names)


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
