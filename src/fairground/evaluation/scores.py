"""Embeddings and labels in, scores out: `evaluate` for the numbers, `evaluate_in_detail` for what is behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairground.contracts.metric import ClusteringMetric, Metric, OpenSetMetric, RankingMetric, VerificationMetric
from fairground.errors import DataError, require
from fairground.evaluation import inputs
from fairground.evaluation.bootstrap import Bootstrap, BootstrapInterval
from fairground.evaluation.excluded_pairs import GroupRule
from fairground.evaluation.metric_names import metric_named
from fairground.evaluation.relevance import RelevanceFunction
from fairground.evaluation.view import Distance, EmbeddingView

DEFAULT_METRICS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
Lone = Literal["drop", "zero"]
Average = Literal["queries", "classes"]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores by the names they were asked by, and what is behind them.

    `per_query` holds each ranking metric's value of every query, in the order of the queries; `is_counted` marks the
    queries that entered the means (with `lone="drop"` those with something to find). `per_class` holds the mean over
    each class's counted queries, in the order of `class_names`; not a number where a class has none. `class_sizes` is
    how many those are. `intervals` is empty unless a bootstrap was asked for.
    """

    scores: Mapping[str, float]
    per_query: Mapping[str, np.ndarray]
    per_class: Mapping[str, np.ndarray]
    class_names: np.ndarray
    class_sizes: np.ndarray
    is_counted: np.ndarray
    intervals: Mapping[str, BootstrapInterval]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return everything but the scores as named arrays, ready to be kept beside a record."""
        kept = {"is_counted": self.is_counted, "class_names": self.class_names, "class_sizes": self.class_sizes}
        kept |= {f"per_query/{word}": values for word, values in self.per_query.items()}
        return kept | {f"per_class/{word}": values for word, values in self.per_class.items()}


def evaluate(
    embeddings: inputs.Embeddings,
    labels: inputs.Labels | None = None,
    metrics: Sequence[str] | None = None,
    references: inputs.Embeddings | None = None,
    reference_labels: inputs.Labels | None = None,
    *,
    distance: Distance = "euclidean",
    normalise: bool = True,
    lone: Lone = "drop",
    average: Average = "queries",
    query_rows: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    reference_groups: np.ndarray | None = None,
    group_rule: GroupRule = "same_group",
    relevance: RelevanceFunction | None = None,
    n_clusters: int | None = None,
    seed: int = 1234,
    clustering_seeds: int = 1,
    threads: int | None = None,
    block: int | None = None,
) -> dict[str, float]:
    """Return the score of every metric asked for, under the name it was asked by; `EmbeddingView` explains the rest."""
    view = EmbeddingView(
        embeddings,
        labels,
        references,
        reference_labels,
        distance=distance,
        normalise=normalise,
        query_rows=query_rows,
        groups=groups,
        reference_groups=reference_groups,
        group_rule=group_rule,
        relevance=relevance,
        n_clusters=n_clusters,
        seed=seed,
        clustering_seeds=clustering_seeds,
        threads=threads,
        block=block,
    )
    return dict(evaluate_in_detail(view, metrics, lone=lone, average=average).scores)


def evaluate_in_detail(
    view: EmbeddingView,
    metrics: Sequence[str] | None = None,
    *,
    lone: Lone = "drop",
    average: Average = "queries",
    bootstrap: Bootstrap | None = None,
) -> Evaluation:
    """Return scores and what is behind them; the view may be asked again and remembers what it has computed."""
    require(lone in ("drop", "zero"), f"lone must be 'drop' or 'zero'; got '{lone}'")
    require(average in ("queries", "classes"), f"average must be 'queries' or 'classes'; got '{average}'")
    require(not isinstance(metrics, str), f"metrics must be a list of names; got the single word '{metrics}'")
    require(
        average == "queries" or view.classes is not None,
        "average='classes' needs one label a row; got sets of labels or none",
    )
    chosen = {word: metric_named(word) for word in (DEFAULT_METRICS if metrics is None else metrics)}
    values = _rank_values(view, chosen)
    is_counted = _counted(view, lone)
    require(
        not values or bool(is_counted.any()),
        "no query has anything to find: every class has a single image, or all its pairs are left out; "
        "give classes two images at least",
        DataError,
    )
    per_class = {word: _class_means(view, of, is_counted) for word, of in values.items() if view.classes is not None}
    scores, intervals = {}, {}
    for word, metric in chosen.items():
        if isinstance(metric, RankingMetric):
            means = per_class[word] if average == "classes" else values[word][is_counted]
            scores[word] = float(np.nanmean(means))
        elif isinstance(metric, ClusteringMetric):
            scores[word] = float(np.mean([metric.score(table) for table in view.contingencies]))
        elif isinstance(metric, VerificationMetric):
            scores[word] = metric.score(view.curve.verification)
        elif isinstance(metric, OpenSetMetric):
            scores[word] = metric.score(view.open_set)
        if bootstrap is not None:
            intervals[word] = _interval(bootstrap, metric, view, values.get(word), is_counted, average)
    return Evaluation(
        scores=scores,
        per_query=values,
        per_class=per_class,
        class_names=np.empty(0) if view.classes is None else view.classes.names,
        class_sizes=_class_sizes(view, is_counted),
        is_counted=is_counted,
        intervals=intervals,
    )


def _interval(
    bootstrap: Bootstrap,
    metric: Metric,
    view: EmbeddingView,
    values: np.ndarray | None,
    is_counted: np.ndarray,
    average: Average,
) -> BootstrapInterval:
    if isinstance(metric, ClusteringMetric):
        return bootstrap.of_clustering(metric, view.contingencies)
    # Where rows have no class, each query is drawn by itself.
    units = np.arange(view.n_queries) if view.query_classes is None else view.query_classes
    if isinstance(metric, VerificationMetric):
        return bootstrap.of_verification(metric, view.curve, units)
    if isinstance(metric, OpenSetMetric):
        return bootstrap.of_open_set(metric, view.open_set, units)
    assert values is not None
    return bootstrap.of_mean(values[is_counted], units[is_counted], over_classes=average == "classes")


def _rank_values(view: EmbeddingView, chosen: Mapping[str, Metric]) -> dict[str, np.ndarray]:
    """Return every ranking metric's value of every query, in one walk over the rankings."""
    ranking_metrics = {word: metric for word, metric in chosen.items() if isinstance(metric, RankingMetric)}
    values = {word: np.zeros(view.n_queries) for word in ranking_metrics}
    for rows, ranking in view.rankings() if values else ():
        for word, metric in ranking_metrics.items():
            values[word][rows] = metric.per_query(ranking)
    return values


def _counted(view: EmbeddingView, lone: Lone) -> np.ndarray:
    is_counted = np.ones(view.n_queries, bool)
    if lone == "drop":
        is_counted[view.relevance.query_order] = view.relevance.n_relevant > 0
    return is_counted


def _class_means(view: EmbeddingView, values: np.ndarray, is_counted: np.ndarray) -> np.ndarray:
    assert view.classes is not None
    assert view.query_classes is not None
    n = len(view.classes.names)
    sizes = _class_sizes(view, is_counted)
    totals = np.bincount(view.query_classes[is_counted], weights=values[is_counted], minlength=n)
    means: np.ndarray = np.where(sizes > 0, totals / np.maximum(sizes, 1), np.nan)
    return means


def _class_sizes(view: EmbeddingView, is_counted: np.ndarray) -> np.ndarray:
    if view.classes is None or view.query_classes is None:
        return np.empty(0, np.int64)
    return np.bincount(view.query_classes[is_counted], minlength=len(view.classes.names))
