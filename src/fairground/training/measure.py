"""What a run's embeddings score, by the rules of search and the metrics of its spec."""

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.table import ImageTable
from fairground.evaluation.pretrained import pretrained_embeddings
from fairground.evaluation.scores import Evaluation, evaluate_in_detail
from fairground.evaluation.view import EmbeddingView
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled


def measure(spec: RunSpec, parts: Assembled, embeddings: Tensor, rows: np.ndarray) -> Evaluation:
    """Return the spec's metrics of the embeddings of these rows, by the rules of search the data set has."""
    view = view_of(spec, parts, embeddings, rows)
    return evaluate_in_detail(view, spec.evaluation.metrics, lone=spec.evaluation.lone)


def view_of(spec: RunSpec, parts: Assembled, embeddings: Tensor, rows: np.ndarray) -> EmbeddingView:
    """Return the view to judge by: unit vectors unless the loss is one of those that compare raw outputs.

    Queries search the gallery where the data set tells them apart and these rows have both; otherwise all search all.
    """
    if spec.evaluation.principal_axes:
        embeddings = pretrained_embeddings(embeddings, dim=spec.evaluation.principal_axes)
    seeds = spec.evaluation.clustering_seeds
    return view_of_rows(parts.table, embeddings, rows, normalise=parts.on_sphere(spec.evaluation), seeds=seeds)


def view_of_rows(
    table: ImageTable, embeddings: Tensor, rows: np.ndarray, *, normalise: bool, seeds: int = 1
) -> EmbeddingView:
    """Return the view of embeddings of some rows; queries search the gallery where the data set tells them apart."""
    labels = table.labels[rows]
    groups = None if table.groups is None else table.groups[rows]
    if table.is_query is None or table.is_gallery is None or not table.is_query[rows].any():
        return EmbeddingView(embeddings, labels, groups=groups, normalise=normalise, clustering_seeds=seeds)
    queries, gallery = np.flatnonzero(table.is_query[rows]), np.flatnonzero(table.is_gallery[rows])
    return EmbeddingView(
        embeddings[torch.from_numpy(queries)],
        labels[queries],
        embeddings[torch.from_numpy(gallery)],
        labels[gallery],
        groups=None if groups is None else groups[queries],
        reference_groups=None if groups is None else groups[gallery],
        normalise=normalise,
        clustering_seeds=seeds,
    )
