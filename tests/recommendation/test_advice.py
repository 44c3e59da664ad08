"""The advice of a recommendation: every sentence from one comparison, and the test classes heard but never obeyed."""

import re

import numpy as np
import pytest

from fairground.comparison.compare_values import compare_values
from fairground.evaluation import BootstrapInterval
from fairground.recommendation.advice import Decision, UnsealedScores, advice_of, bars_of, decide, table_of, verdicts_of
from fairground.recommendation.methods import Method, Network, plain
from fairground.recommendation.recommendation_folder import Measurement, Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.sealed_classes_and_folds import ClassFolds
from fairground.recommendation.search import Search
from fairground.reporting.page_templates import write_recommendation_page
from tests.commands.quick_search import ticking

NETWORK = Network(name="a network", protocol="photographs")
FROZEN = plain("frozen network", NETWORK)
TUNED = Method(name="fine-tuned network (SupCon)", network=NETWORK, trains="network", steps=90, settings="rate 0.0001")
EASY = np.linspace(0.3, 0.7, 12)
INTERVAL = BootstrapInterval(low=0.3, high=0.7, confidence=0.95, n_draws=1000)


def searched(gain: float, n_classes: int = 12, scatter: float = 0.005) -> Search:
    """Return a search in which training gains so much on every class, give or take a little."""
    labels = np.repeat(np.arange(n_classes), 2)
    folds = ClassFolds(rows=np.arange(len(labels)), labels=labels, seed=0)
    search = Search(Request(title="", base={}), ticking(1.0, tick=0.0), folds, Measurements(), None, None)
    for method, more in ((FROZEN, 0.0), (TUNED, gain)):
        noise = scatter * np.random.default_rng(len(method.label)).normal(size=12)
        values = {metric: (EASY + more + noise).tolist() for metric in search.request.metrics}
        search.entered[method.label] = method
        search.known.add(method.label, 0, Measurement(method.training, method.steps, range(12), values))
    return search


def decided(gain: float) -> Decision:
    return decide(searched(gain), FROZEN)


def opened(chosen: float, frozen: float, *, classes: int = 12) -> UnsealedScores:
    noise = 0.005 * np.random.default_rng(0).normal(size=classes)
    values = {FROZEN.label: dict(enumerate((frozen + noise).tolist()))}
    values[TUNED.label] = dict(enumerate([chosen] * classes))
    return UnsealedScores(
        scores={FROZEN.label: {"recall@1": frozen, "map@r": 0.4}, TUNED.label: {"recall@1": chosen, "map@r": 0.4}},
        pair=compare_values(values).pairs[0],
        intervals={label: dict.fromkeys(("recall@1", "map@r"), INTERVAL) for label in values},
        n_classes=classes,
        rows=np.arange(99),
    )


SEALED = UnsealedScores()


@pytest.mark.parametrize(
    ("gain", "test", "sentence"),
    [
        (
            0.06,
            opened(0.56, 0.5),
            r"Use the fine-tuned network \(SupCon\): on the 12 classes kept for the test, 56.0 % of searches find the "
            "right class first, instead of 50.0 % with the frozen network",
        ),
        (
            0.06,
            opened(0.44, 0.5),
            r"Validation classes chose the fine-tuned network \(SupCon\), but on the 12 classes kept for the test only "
            "44.0 % of searches find the right class first, instead of 50.0 % with the frozen network",
        ),
        (
            0.06,
            opened(0.5, 0.5),
            ".* the right class first, as with the frozen network; MAP@R is 40.00 instead of 40.00",
        ),
        (0.06, SEALED, r"Use the fine-tuned network \(SupCon\): on validation classes, 5.8 points more of searches"),
        (
            0.06,
            opened(0.56, 0.5),
            r"On validation classes .* better than the frozen network by .*\] points of Recall@1",
        ),
        (0.06, opened(0.56, 0.5), "The test is 99 images of 12 classes"),
        (0.06, opened(0.56, 0.5), "The test classes agree: better than"),
        (0.06, opened(0.44, 0.5), "The test classes disagree: worse than the frozen network by 6"),
        (-0.03, opened(0.56, 0.5), "The test classes disagree: better than"),
        (-0.03, opened(0.5, 0.5), "Use the frozen network as it is: nothing that was tried is better"),
        (0.06, SEALED, "The test classes are still sealed"),
    ],
)
def test_what_was_found_is_told(gain, test, sentence) -> None:
    said = advice_of(decided(gain), test, searched(gain), elapsed=60.0)
    assert any(re.match(sentence, one) for one in said), said


def test_what_is_chosen_without_a_verdict_is_the_best_bet() -> None:
    search = searched(0.06, scatter=0.08)
    said = advice_of(decide(search, FROZEN), SEALED, search, elapsed=60.0)
    assert any("It is the best bet, not a proven one" in one for one in said), said


def test_of_two_metrics_without_a_verdict_the_open_one_is_shown() -> None:
    search = searched(0.0)
    for method, more in ((FROZEN, 0.0), (TUNED, np.linspace(-0.3, 0.5, 12))):
        values = {metric: (EASY + more * (metric == "map@r")).tolist() for metric in search.request.metrics}
        search.known.add(method.label, 0, Measurement(method.training, method.steps, range(12), values))
    found = decide(search, FROZEN)
    assert (found.chosen, found.metric) == (TUNED, "map@r")
    pair = found.pair(TUNED)
    assert pair is not None
    assert pair.verdict == "unsettled"


def test_a_closed_form_that_is_worse_was_measured_too() -> None:
    search, worse = searched(-0.1), Method(name="frozen network with PLDA", network=NETWORK, head="PLDA")
    del search.entered[TUNED.label]
    values = {metric: (EASY - 0.1).tolist() for metric in search.request.metrics}
    search.entered[worse.label] = worse
    search.known.add(worse.label, 0, Measurement(worse.training, 0, range(12), values))
    said = advice_of(decide(search, FROZEN), SEALED, search, elapsed=60.0)
    assert said[0] == "Use the frozen network as it is: nothing that was tried is better by more than the noise."


def test_few_classes_are_warned_of_and_nothing_measured_is_told() -> None:
    said = advice_of(decided(0.06), SEALED, searched(0.06, n_classes=5), elapsed=60.0)
    assert "Only 5 classes can validate, 2 at a time" in said[2]
    said = advice_of(decide(None, FROZEN), SEALED, None, elapsed=60.0)
    assert said[::2] == [
        "Use the frozen network as it is: nothing has been measured yet.",
        "0 methods were tried in 60 s.",
    ]


def test_page_table_bars_verdicts_and_advice_have_one_source(tmp_path) -> None:
    found, test = decided(0.06), opened(0.56, 0.5)
    columns, rows = table_of(found, test, ("recall@1", "map@r"))
    assert [row[:3] for row in rows] == [
        ["frozen network", "50.00", "40.00"],
        ["fine-tuned network (SupCon) (recommended)", "56.00", "40.00"],
    ]
    pair = found.pair(TUNED)
    assert pair is not None
    assert rows[1][3] == f"+{100 * pair.difference:.2f} ± {100 * (pair.high - pair.low) / 2:.2f}"
    assert rows[0][3:] == ["", ""]
    said = advice_of(found, test, searched(0.06), elapsed=60.0)
    assert verdicts_of(found)[0].partition(": ")[2].rstrip(".") in said[1]
    page = {"advice": said, "columns": columns, "rows": rows, "verdicts": verdicts_of(found)}
    page |= {"steps": ("20 images.",), "commands": ("fairground embed",)}
    page |= {"bars": {"recall@1": bars_of(found, test, "recall@1")}, "is_open": True, "settings": {}, "noun": "images"}
    page |= dict.fromkeys(("searches", "confused", "suspects", "maps"))
    title = "Which method for <b>birds</b>?"
    path = write_recommendation_page(tmp_path / "report.html", frozen="frozen network", title=title, **page)
    text = path.read_text().replace("\u00a0", " ")
    assert "&lt;b&gt;birds&lt;/b&gt;" in text
    assert all(sentence in text for sentence in (*said, *verdicts_of(found)))


def test_bars_are_test_scores_with_intervals_and_gains_of_validation_before() -> None:
    found = decided(0.06)
    frozen, tuned = bars_of(found, opened(0.56, 0.5), "recall@1")
    assert (frozen.value, frozen.low, frozen.role) == (0.5, 0.3, "")
    assert (tuned.text, tuned.high, tuned.role) == ("56.00", 0.7, "recommended")
    frozen, tuned = bars_of(found, SEALED, "recall@1")
    assert (frozen.value, frozen.low, frozen.high) == (0.0, 0.0, 0.0)
    assert tuned.low < tuned.value < tuned.high
    assert tuned.text == f"+{100 * tuned.value:.2f}"
    assert tuned.value == pytest.approx(0.058, abs=0.002)
