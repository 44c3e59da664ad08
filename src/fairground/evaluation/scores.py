"""Embeddings and labels in, scores out: `evaluate` for the numbers, `evaluate_in_detail` for everything behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fairground.contracts.metric import Metric, RankingMetric
from fairground.errors import DataError, require
from fairground.evaluation import inputs
from fairground.evaluation.naming import metric_named
from fairground.evaluation.relevance import RelevanceFunction
from fairground.evaluation.view import Distance, EmbeddingView, GroupRule

DEFAULT_METRICS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
Lone = Literal["drop", "zero"]


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Scores, and the values of every query behind each ranking metric, in the order of the queries.

    `is_counted` marks the queries that entered the means: with `lone="drop"` those with something to find.
    """

    scores: Mapping[str, float]
    per_query: Mapping[str, np.ndarray]
    is_counted: np.ndarray


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
    query_rows: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    reference_groups: np.ndarray | None = None,
    group_rule: GroupRule = "same_group",
    relevance: RelevanceFunction | None = None,
    threads: int | None = None,
    block: int | None = None,
) -> dict[str, float]:
    """Return the score of every metric asked for, under the name it was asked by."""
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
        threads=threads,
        block=block,
    )
    return dict(evaluate_view(view, metrics, lone=lone).scores)


def evaluate_view(view: EmbeddingView, metrics: Sequence[str] | None = None, *, lone: Lone = "drop") -> Evaluation:
    """Return scores and the values behind them, of a view that may be asked again."""
    require(lone in ("drop", "zero"), f"lone must be 'drop' or 'zero'; got '{lone}'")
    words = list(DEFAULT_METRICS if metrics is None else metrics)
    require(not isinstance(metrics, str), f"metrics must be a list of names; got the single word '{metrics}'")
    chosen = {word: metric_named(word) for word in words}
    values, n_relevant = _rank_values(view, chosen)
    is_counted = n_relevant > 0 if lone == "drop" else np.ones(view.n_queries, bool)
    require(
        not values or bool(is_counted.any()),
        "no query has anything to find: every class has a single image (or all its pairs are left out)",
        DataError,
    )
    scores = {word: float(of_query[is_counted].mean()) for word, of_query in values.items()}
    return Evaluation(scores={word: scores[word] for word in words}, per_query=values, is_counted=is_counted)


def _rank_values(view: EmbeddingView, chosen: Mapping[str, Metric]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return every ranking metric's value of every query, in one walk over the rankings, and each query's R."""
    ranking_metrics = {word: metric for word, metric in chosen.items() if isinstance(metric, RankingMetric)}
    values = {word: np.zeros(view.n_queries) for word in ranking_metrics}
    n_relevant = np.zeros(view.n_queries, np.int64)
    n_relevant[view.relevance.query_order] = view.relevance.n_relevant
    for rows, ranking in view.rankings() if values else ():
        for word, metric in ranking_metrics.items():
            values[word][rows] = metric.per_query(ranking)
    return values, n_relevant
