import numpy as np
import pytest

from fairground.errors import InputError
from fairground.evaluation import Bootstrap, EmbeddingView, evaluate, evaluate_in_detail


def test_an_interval_of_a_mean_is_as_wide_as_theory_says():
    # 400 classes of 5 that succeed or fail together: the standard error is that of 400 coins, not of 2,000.
    draw = np.random.default_rng(0)
    classes = np.repeat(np.arange(400), 5)
    values = (draw.random(400) < 0.5)[classes].astype(float)
    interval = Bootstrap(n_draws=2000).of_mean(values, classes)
    expected = 1.96 * np.sqrt(0.25 / 400)
    assert (interval.high - interval.low) / 2 == pytest.approx(expected, rel=0.1)
    assert interval.low < values.mean() < interval.high


def test_the_interval_of_class_means_does_not_weigh_by_size():
    values, classes = np.array([1.0, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 2])
    interval = Bootstrap(n_draws=4000, confidence=0.5).of_mean(values, classes, over_classes=True)
    assert (interval.low + interval.high) / 2 == pytest.approx(2 / 3, abs=0.1)


def test_every_kind_of_metric_has_an_interval_around_its_score():
    draw = np.random.default_rng(0)
    labels = draw.integers(25, size=250)
    embeddings = draw.normal(size=(25, 6))[labels] + draw.normal(size=(250, 6))
    words = ["recall@1", "map@r", "nmi", "ami", "f1", "purity", "roc_auc", "eer", "fnmr@0.1"]
    view = EmbeddingView(embeddings, labels)
    detail = evaluate_in_detail(view, words, bootstrap=Bootstrap(n_draws=200, seed=3))
    assert set(detail.intervals) == set(words)
    for word in words:
        interval = detail.intervals[word]
        assert interval.low < detail.scores[word] < interval.high
        assert interval.high - interval.low < 0.5
    again = evaluate_in_detail(view, words, bootstrap=Bootstrap(n_draws=200, seed=3))
    assert again.intervals == detail.intervals
    assert detail.scores == evaluate(embeddings, labels, words)


def test_without_classes_each_query_is_drawn_by_itself():
    sets = [{k % 5, k % 3} for k in range(60)]
    embeddings = np.random.default_rng(0).normal(size=(60, 4))
    detail = evaluate_in_detail(EmbeddingView(embeddings, sets), ["recall@1"], bootstrap=Bootstrap(n_draws=50))
    assert detail.intervals["recall@1"].low <= detail.scores["recall@1"] <= detail.intervals["recall@1"].high
    assert len(detail.per_class["recall@1"]) == 5


def test_refusals():
    with pytest.raises(InputError, match=r"bootstrap.n_draws must be at least 2; got 1"):
        Bootstrap(n_draws=1)
    with pytest.raises(InputError, match=r"bootstrap.confidence must be between 0 and 1; got 95"):
        Bootstrap(confidence=95)
