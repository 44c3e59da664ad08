import numpy as np
import pytest

from fairground.contracts.metric import RankingMetric
from fairground.errors import InputError
from fairground.evaluation.metric_scores import evaluate, metric_named
from fairground.metrics import FnmrMetric, MapAtRMetric, MapMetric, NdcgMetric, RecallMetric
from fairground.spec.measurement_names import spelled


class OutsideMetric(RankingMetric):
    argument = "k"

    def __init__(self, *, k=3):
        self.k = k

    def per_query(self, ranking):
        return ranking.first * 0


@pytest.mark.parametrize(
    ("word", "kind", "settings"),
    [
        ("recall@5", RecallMetric, {"k": 5}),
        ("R@10", RecallMetric, {"k": 10}),
        ("Recall @ 2", RecallMetric, {"k": 2}),
        ("recall_at_4", RecallMetric, {"k": 4}),
        ("cmc@1", RecallMetric, {"k": 1}),
        ("map", MapMetric, {"limit": None, "divisor": "relevant"}),
        ("mAP@1000", MapMetric, {"limit": 1000, "divisor": "class_size"}),
        ("map@r", MapAtRMetric, {}),
        ("mean-average-precision-at-R", MapAtRMetric, {}),
        ("ndcg@10", NdcgMetric, {"k": 10}),
        ("fnmr@fmr=0.01", FnmrMetric, {"fmr": 0.01}),
        ("FNMR@1e-3", FnmrMetric, {"fmr": 0.001}),
        ("tests.evaluation.test_naming:OutsideMetric@7", OutsideMetric, {"k": 7}),
        ("tests.evaluation.test_naming:OutsideMetric", OutsideMetric, {"k": 3}),
    ],
)
def test_words(word, kind, settings):
    metric = metric_named(word)
    assert type(metric).__name__ == kind.__name__
    assert {name: getattr(metric, name) for name in settings} == settings


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("recal@5", "no metric 'recal@5'. Did you mean 'recall@5'? `fairground list metrics` shows them all."),
        ("nmii", "no metric 'nmii'. Did you mean 'nmi'? `fairground list metrics` shows them all."),
        ("zzz", "no metric 'zzz'. `fairground list metrics` shows them all."),
        ("nmi@3", "metric 'nmi@3': nmi takes nothing after @; got '3'"),
        ("recall@many", "metric 'recall@many': 'many' is not a number"),
        ("recall@0", "recall.k must be a whole number from 1; got 0"),
        ("recall@1.5", "recall.k must be a whole number from 1; got 1.5"),
        (
            "pathlib:Path",
            "'pathlib:Path' is not a metric: derive it from RankingMetric, ClusteringMetric, VerificationMetric or "
            "OpenSetMetric",
        ),
    ],
)
def test_refusals(word, sentence):
    with pytest.raises(InputError) as caught:
        metric_named(word)
    assert str(caught.value) == sentence


def test_a_file_spells_its_word():
    assert spelled("map_at_r") == "map@r"


@pytest.mark.parametrize("name", ["recall", "precision", "ndcg", "map"])
def test_a_number_that_no_list_is_long_enough_for_is_refused(name):
    for number in ("9" * 20, "inf"):
        with pytest.raises(InputError, match=r"a number after @ is 1,000,000,000 at most"):
            metric_named(f"{name}@{number}")
    with pytest.raises(InputError, match="is not a number"):
        metric_named(f"{name}@{'9' * 5000}")
    scores = evaluate(np.eye(4), np.array([0, 0, 1, 1]), [f"{name}@1000000000"])
    assert list(scores) == [f"{name}@1000000000"]
