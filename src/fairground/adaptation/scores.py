"""Embeddings of some rows of a table to scores, class by class, by the rules of search the data set has."""

from collections.abc import Sequence

import numpy as np
from torch import Tensor

from fairground.contracts.table import ImageTable
from fairground.evaluation.embedding_view import EmbeddingView
from fairground.evaluation.metric_scores import Evaluation, evaluate_in_detail


def view_of_rows(table: ImageTable, embeddings: Tensor, rows: np.ndarray, *, normalise: bool) -> EmbeddingView:
    """Return the view to judge by; queries search the gallery where the data set tells them apart in these rows."""
    labels = table.labels[rows]
    groups = None if table.groups is None else table.groups[rows]
    if table.is_query is None or table.is_gallery is None or not table.is_query[rows].any():
        return EmbeddingView(embeddings, labels, groups=groups, normalise=normalise)
    queries, gallery = np.flatnonzero(table.is_query[rows]), np.flatnonzero(table.is_gallery[rows])
    return EmbeddingView(
        embeddings[queries],
        labels[queries],
        embeddings[gallery],
        labels[gallery],
        groups=None if groups is None else groups[queries],
        reference_groups=None if groups is None else groups[gallery],
        normalise=normalise,
    )


def scores_of_rows(
    table: ImageTable, embeddings: Tensor, rows: np.ndarray, metrics: Sequence[str], *, normalise: bool
) -> Evaluation:
    """Return the scores of the embeddings of these rows, with those of each class."""
    return evaluate_in_detail(view_of_rows(table, embeddings, rows, normalise=normalise), metrics)
