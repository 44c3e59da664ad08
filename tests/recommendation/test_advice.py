"""The advice of a recommendation: every sentence from one comparison, and the test classes heard but never obeyed."""

import re

import numpy as np
import pytest

from fairground.comparison.compare_values import compare_values
from fairground.recommendation.advice import (
    FoldSummary,
    UnsealedScores,
    advice_of,
    table_columns,
    table_rows,
    verdicts_of,
)
from fairground.recommendation.budget import Budget
from fairground.recommendation.candidates import Candidate, plain
from fairground.recommendation.decision import Decision, RankedMethod, decide
from fairground.recommendation.folder import Measurement, Measurements
from fairground.recommendation.race import Race
from fairground.reporting.rendering import write_race_page

FROZEN = plain("frozen network")
HEAD = Candidate(loss="SupCon", settings={"loss": "sup_con"}, steps=90)
FOLDS = FoldSummary(n_classes=12, n_folds=3)
EASY = np.linspace(0.3, 0.7, 12)


def decided(gain: float, *, repeats: int = 3) -> Decision:
    """Return the decision of a race in which a head gains so much on every class, give or take a little."""
    known = Measurements(None, scope="s")
    for repeat in range(repeats + 1):
        for candidate, more in ((FROZEN, 0.0), (HEAD, gain)):
            noise = 0.005 * np.random.default_rng([repeat, len(candidate.label)]).normal(size=12)
            blocks = tuple(float(value) for value in EASY + more + noise)
            scores = {"recall@1": float(np.mean(blocks)), "map@r": 0.5}
            known.add(
                Measurement(
                    scope="s",
                    method=candidate.label,
                    repeat=repeat,
                    scores=scores,
                    blocks={"recall@1": blocks},
                    seconds=1.0,
                )
            )
    race = Race(
        untrained=[FROZEN],
        trained=[HEAD],
        measure=lambda *_: pytest.fail("measured"),
        known=known,
        budget=Budget(1.0),
        metric="recall@1",
        entered={one.label: one for one in (FROZEN, HEAD)},
        finalists=[FROZEN, HEAD],
    )
    return decide(race)


def opened(chosen: float, frozen: float, *, classes: int = 12) -> UnsealedScores:
    """Return test findings of so many classes."""
    noise = 0.005 * np.random.default_rng(0).normal(size=classes)
    values = {
        "frozen network": dict(enumerate((frozen + noise).tolist())),
        HEAD.label: dict(enumerate([chosen] * classes)),
    }
    scores = {"frozen network": frozen, HEAD.label: chosen}
    return UnsealedScores(
        scores={label: {"recall@1": value, "map@r": 0.4} for label, value in scores.items()},
        comparison=compare_values(values),
        n_classes=classes,
        n_images=99,
    )


def advice(found: Decision, test: UnsealedScores, folds: FoldSummary = FOLDS) -> list[str]:
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
def test_what_was_found_is_said(gain, repeats, test, sentence) -> None:
    assert any(re.match(sentence, one) for one in advice(decided(gain, repeats=repeats), test))


def test_table_verdicts_and_advice_have_one_source() -> None:
    found, test = decided(0.06), opened(0.56, 0.5)
    rows = table_rows(found, test, ("recall@1", "map@r"))
    assert rows[0][0] == "frozen network"
    assert rows[1][0] == "SupCon, 90 steps (recommended)"
    assert len(rows[0]) == len(table_columns(("recall@1", "map@r"), is_open=True))
    assert found.comparison is not None
    mean = found.comparison.estimate(HEAD.label).mean
    assert rows[1][1].startswith(f"{100 * mean:.2f} ± ")
    assert advice(found, test)[1].startswith(verdicts_of(found)[0].rstrip("."))


def test_without_any_measurement_the_frozen_network_is_what_there_is() -> None:
    nothing = RankedMethod(candidate=FROZEN, scores={}, n_repeats=0, seconds=0.0)
    found = Decision(
        metric="recall@1",
        chosen=nothing,
        frozen=nothing,
        methods=(nothing,),
        comparison=None,
        n_tried=0,
        is_confirmed=False,
    )
    assert advice(found, UnsealedScores())[0] == "Take the frozen network: nothing has been measured yet."


def test_the_page_says_what_the_advice_says(tmp_path) -> None:
    found, test = decided(0.06), opened(0.56, 0.5)
    rows = table_rows(found, test, ("recall@1",))
    path = write_race_page(
        tmp_path / "report.html",
        frozen="frozen network",
        title="Which method for <b>birds</b>?",
        advice=advice(found, test),
        columns=table_columns(("recall@1",), is_open=True),
        rows=rows,
        verdicts=verdicts_of(found),
        steps=("20 images.",),
        commands=("fairground embed model MY_IMAGES",),
        counts={"images": "20"},
    )
    text = path.read_text().replace("\u00a0", " ")
    assert "&lt;b&gt;birds&lt;/b&gt;" in text
    for sentence in (*advice(found, test), *verdicts_of(found)):
        assert sentence in text
    assert ("Sealed: the test classes were not opened" in text) is any("sealed" in row for row in rows)
