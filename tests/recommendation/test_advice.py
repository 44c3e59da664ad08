"""The advice of a recommendation: every sentence from one comparison, and the test classes heard but never obeyed."""

import re

import numpy as np
import pytest

from fairground.comparison.compare_values import compare_values
from fairground.recommendation.advice import Decision, UnsealedScores, advice_of, decide, table_of, verdicts_of
from fairground.recommendation.class_folds import ClassFolds
from fairground.recommendation.methods import Method, Network, plain
from fairground.recommendation.recommendation_folder import Measurement, Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.search import Search
from fairground.reporting.page_templates import write_recommendation_page
from tests.commands.quick_search import ticking

NETWORK = Network(name="a network", protocol="photographs")
FROZEN = plain("frozen network", NETWORK)
TUNED = Method(name="fine-tuned network (SupCon)", network=NETWORK, trains="network", steps=90, settings="rate 0.0001")
EASY = np.linspace(0.3, 0.7, 12)


def searched(gain: float, n_classes: int = 12) -> Search:
    """Return a search in which training gains so much on every class, give or take a little."""
    labels = np.repeat(np.arange(n_classes), 2)
    folds = ClassFolds(rows=np.arange(len(labels)), labels=labels, seed=0)
    search = Search(Request(title="", base={}), ticking(1.0, tick=0.0), folds, Measurements(), None, None)
    for method, more in ((FROZEN, 0.0), (TUNED, gain)):
        noise = 0.005 * np.random.default_rng(len(method.label)).normal(size=12)
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
        n_classes=classes,
        n_images=99,
    )


SEALED = UnsealedScores()


@pytest.mark.parametrize(
    ("gain", "test", "sentence"),
    [
        (
            0.06,
            opened(0.56, 0.5),
            r"Use the fine-tuned network \(SupCon\): on test classes it brings Recall@1 50.00 to 56",
        ),
        (
            0.06,
            SEALED,
            r"Use the fine-tuned network \(SupCon\): on validation classes it brings Recall@1 50.12 to 55.91 %",
        ),
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
        (0.004, SEALED, ".* It is the best bet, not a proven one"),
        (0.06, SEALED, "The test classes are still sealed"),
    ],
)
def test_what_was_found_is_told(gain, test, sentence) -> None:
    said = advice_of(decided(gain), test, searched(gain), elapsed=60.0)
    assert any(re.match(sentence, one) for one in said), said


def test_few_classes_are_warned_of_and_nothing_measured_is_told() -> None:
    said = advice_of(decided(0.06), SEALED, searched(0.06, n_classes=5), elapsed=60.0)
    assert "Only 5 classes can validate, 2 at a time" in said[2]
    said = advice_of(decide(None, FROZEN), SEALED, None, elapsed=60.0)
    assert said[::2] == [
        "Use the frozen network as it is: nothing has been measured yet.",
        "0 methods were tried in 60 s.",
    ]


def test_page_table_verdicts_and_advice_have_one_source(tmp_path) -> None:
    found, test = decided(0.06), opened(0.56, 0.5)
    columns, rows = table_of(found, test, ("recall@1", "map@r"))
    assert [row[0] for row in rows] == ["frozen network", "fine-tuned network (SupCon) (recommended)"]
    assert len(rows[0]) == len(columns)
    assert found.comparison is not None
    assert rows[1][1].startswith(f"{100 * found.comparison.estimate(TUNED.label).mean:.2f} ± ")
    said = advice_of(found, test, searched(0.06), elapsed=60.0)
    assert verdicts_of(found)[0].partition(": ")[2].rstrip(".") in said[1]
    page = {"advice": said, "columns": columns, "rows": rows, "verdicts": verdicts_of(found)}
    page |= {"steps": ("20 images.",), "commands": ("fairground embed",), "counts": {"images": "20"}}
    title = "Which method for <b>birds</b>?"
    path = write_recommendation_page(tmp_path / "report.html", frozen="frozen network", title=title, **page)
    text = path.read_text().replace("\u00a0", " ")
    assert "&lt;b&gt;birds&lt;/b&gt;" in text
    assert all(sentence in text for sentence in (*said, *verdicts_of(found)))
