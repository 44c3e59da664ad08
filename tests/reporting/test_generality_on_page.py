"""What a page and `fairground compare` say of other test classes, from what runs scored on each."""

import dataclasses

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.records import RunFolder, write_arrays
from fairground.reporting import ClassScores, RunSet, inputs_of, methods_of, sections_of
from fairground.reporting.comparison_text import compare_records, how_to_read, sentence_in
from tests.reporting.test_result_table import runs

SIZES = np.array([10, 20, 30, 0, 40, 25, 35, 15])


def made(home, *, classes: float, lead: float = 0.05, seeds: float = 0.002):
    """Return runs of two methods, their class scores written: classes suit one method or the other by `classes`."""
    random = np.random.default_rng(0)
    suits = {label: classes * random.normal(size=len(SIZES)) for label in ("ahead", "behind")}
    weights = SIZES / SIZES.sum()
    # The lead over all queries is the same, however classes suit the methods.
    suits = {label: x - x @ weights for label, x in suits.items()}
    found = []
    for label, ahead in (("ahead", lead), ("behind", 0.0)):
        for seed in range(3):
            per_class = 0.4 + ahead + suits[label] + seeds * random.normal() + 0.001 * random.normal(size=len(SIZES))
            (record,) = runs(label, float(per_class @ weights))
            record = dataclasses.replace(record, name=f"{label}{seed}", spec={**record.spec, "seed": seed})
            folder = RunFolder(home, record.name).make()
            arrays = {"class_sizes": SIZES, "per_class/map@r": np.where(SIZES > 0, per_class, np.nan)}
            write_arrays(folder.queries, arrays)
            found.append(record)
    return found


def folders(records, home):
    return {record.name: RunFolder(home, record.name) for record in records}


def test_class_scores_are_read_weighted_and_classes_without_queries_left_out(tmp_path):
    records = made(tmp_path, classes=0.1)
    scores = ClassScores(records=tuple(records), folders=folders(records, tmp_path))
    values, weights = scores.read("map@r", methods_of(records))
    assert weights == [10, 20, 30, 40, 25, 35, 15]
    assert next(iter(values.values()))[0] @ weights / sum(weights) == pytest.approx(records[0].score("map@r"))


def test_each_kind_answers_its_own_question_and_the_headline_says_which(tmp_path):
    alike, unlike = tmp_path / "alike", tmp_path / "unlike"
    for home, classes, words in (
        (alike, 0.005, "That holds for other test classes too, by seeds and 7 test classes at once."),
        (unlike, 0.2, "That is on these test classes: for others it is not settled against"),
    ):
        records = made(home, classes=classes)
        (section,) = sections_of(inputs_of(RunSet.in_home(records, home)))
        assert words in section["headline"]
        assert section["headline"].index("is best") < section["headline"].index(words)
        given = {"folders": folders(records, home)}
        kinds = {kind: compare_records(records, over=kind, **given) for kind in ("seeds", "classes", "both")}
        verdicts = {kind: found.comparison.pairs[0].verdict for kind, found in kinds.items()}
        settled = "better" if classes < 0.1 else "unsettled"
        assert verdicts == {"seeds": "better", "classes": settled, "both": settled}
        both = kinds["both"]
        assert "for other seeds and test classes at once" in how_to_read(both)
        assert "3 seeds and 7 test classes" in sentence_in(both, both.comparison.pairs[0])
        # Marks and sentences of one table come from one model.
        assert (both.rows[0].cells["map@r"].mark == "best") == (verdicts["both"] == "better")


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda folder: folder.queries.unlink(), "has no scores per class of map@r"),
        (lambda folder: write_arrays(folder.queries, {"class_sizes": SIZES}), "has no scores per class of map@r"),
        (
            lambda folder: write_arrays(
                folder.queries, {"class_sizes": SIZES, "per_class/map@r": np.full(len(SIZES), 0.1)}
            ),
            "is not a mean over its queries",
        ),
    ],
)
def test_without_class_scores_it_is_refused_in_a_sentence_and_the_page_does_without(damage, why, tmp_path):
    records = made(tmp_path, classes=0.1)
    damage(RunFolder(tmp_path, records[0].name))
    with pytest.raises(InputError, match=f"no comparison over test classes: .*{why}"):
        compare_records(records, over="both", folders=folders(records, tmp_path))
    (section,) = sections_of(inputs_of(RunSet.in_home(records, tmp_path)))
    assert "test classes too" not in section["headline"]
