"""The advice of a recommendation: every sentence from one comparison, and the test classes heard but never obeyed."""

import re

import numpy as np
import pytest

from fairground.comparison.compare_values import compare_values
from fairground.recommendation.advice import Decision, UnsealedScores, advice_of, decide, table_of, verdicts_of
from fairground.recommendation.candidates import Candidate
from fairground.recommendation.cross_validation import ClassFolds
from fairground.recommendation.race import Race
from fairground.recommendation.recommendation_folder import Measurement
from fairground.recommendation.request import Request
from fairground.recommendation.time_budget import Budget
from fairground.reporting.page_templates import write_race_page

REQUEST = Request(title="", kind="photographs", base={}, by="recall@1", seed=0)
FROZEN = REQUEST.frozen
HEAD = Candidate(loss="SupCon", overrides={"loss": "sup_con"}, steps=90)
EASY = np.linspace(0.3, 0.7, 12)


def decided(gain: float, *, repeats: int = 3) -> Decision:
    """Return the decision of a race in which a head gains so much on every class, give or take a little."""
    race = Race(REQUEST, Budget(1.0), lambda *_: pytest.fail("measured"), [FROZEN], finalists=[FROZEN, HEAD])
    race.entered = {one.label: one for one in race.finalists}
    for repeat in range(repeats + 1):
        for candidate, more in ((FROZEN, 0.0), (HEAD, gain)):
            noise = 0.005 * np.random.default_rng([repeat, len(candidate.label)]).normal(size=12)
            blocks = (EASY + more + noise).tolist()
            scores = {"recall@1": float(np.mean(blocks)), "map@r": 0.5}
            race.known.add(candidate.label, repeat, Measurement(scores, {"recall@1": blocks, "map@r": [0.5] * 12}, 1.0))
    return decide(race)


def opened(chosen: float, frozen: float, *, classes: int = 12) -> UnsealedScores:
    """Return test findings of so many classes."""
    noise = 0.005 * np.random.default_rng(0).normal(size=classes)
    values = {FROZEN.label: dict(enumerate((frozen + noise).tolist())), HEAD.label: dict(enumerate([chosen] * classes))}
    return UnsealedScores(
        scores={FROZEN.label: {"recall@1": frozen, "map@r": 0.4}, HEAD.label: {"recall@1": chosen, "map@r": 0.4}},
        pair=compare_values(values).pairs[0],
        n_classes=classes,
        n_images=99,
    )


def advice(found: Decision, test: UnsealedScores, *, n_classes: int = 12) -> list[str]:
    labels = np.repeat(np.arange(n_classes), 2)
    folds = ClassFolds(rows=np.arange(len(labels)), labels=labels, seed=0)
    return advice_of(found, test, folds, first="recall@1", elapsed=60.0)


SEALED = UnsealedScores()


@pytest.mark.parametrize(
    ("gain", "repeats", "test", "sentence"),
    [
        (0.06, 3, opened(0.56, 0.5), "Take SupCon, 90 steps: Recall@1 5.* points better than the frozen network"),
        (0.06, 3, opened(0.56, 0.5), r"SupCon, 90 steps is better than frozen .*\] points, over .*3 fresh repeats of"),
        (0.06, 3, opened(0.56, 0.5), "On 99 images of 12 test classes"),
        (0.06, 3, opened(0.56, 0.5), "The test classes agree"),
        (0.06, 3, opened(0.44, 0.5), "The test classes disagree: there frozen network is .*Prefer the frozen network"),
        (-0.03, 3, opened(0.56, 0.5), "The test classes disagree: .*Validation could not show it"),
        (0.001, 3, opened(0.5, 0.5), "Training did not help here: take the frozen network as it is"),
        (0.001, 0, SEALED, "Training is not shown to help here: take the frozen network as it is"),
        (0.06, 3, SEALED, "The test classes are still sealed"),
        (0.06, 3, opened(0.24, 0.2, classes=30), "The frozen network itself has .*4 classes to confuse, the test 30"),
    ],
)
def test_what_was_found_is_told(gain, repeats, test, sentence) -> None:
    assert any(re.match(sentence, one) for one in advice(decided(gain, repeats=repeats), test))


def test_few_classes_are_warned_of_and_nothing_measured_is_told() -> None:
    assert "Only 5 classes can validate, 2 at a time" in advice(decided(0.06), SEALED, n_classes=5)[2]
    nothing = decide(Race(REQUEST, Budget(1.0), lambda *_: pytest.fail("measured"), [FROZEN]))
    said = advice_of(nothing, SEALED, None, first="recall@1", elapsed=60.0)
    assert said[::2] == ["Take the frozen network: nothing has been measured yet.", "0 methods were tried in 60 s."]


def test_page_table_verdicts_and_advice_have_one_source(tmp_path) -> None:
    found, test = decided(0.06), opened(0.56, 0.5)
    columns, rows = table_of(found, test, ("recall@1", "map@r"))
    assert [row[0] for row in rows] == ["frozen network", "SupCon, 90 steps (recommended)"]
    assert len(rows[0]) == len(columns)
    assert found.comparison is not None
    assert rows[1][1].startswith(f"{100 * found.comparison.estimate(HEAD.label).mean:.2f} ± ")
    assert advice(found, test)[1].startswith(verdicts_of(found)[0].rstrip("."))
    said = {"advice": advice(found, test), "columns": columns, "rows": rows, "verdicts": verdicts_of(found)}
    said |= {"steps": ("20 images.",), "commands": ("fairground embed",), "counts": {"images": "20"}}
    title = "Which method for <b>birds</b>?"
    path = write_race_page(tmp_path / "report.html", frozen="frozen network", title=title, **said)
    text = path.read_text().replace("\u00a0", " ")
    assert "&lt;b&gt;birds&lt;/b&gt;" in text
    assert all(sentence in text for sentence in (*advice(found, test), *verdicts_of(found)))
    assert "Sealed: the test classes were not opened" not in text
