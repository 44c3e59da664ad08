"""What a run's embeddings score: who searches whom, on unit vectors or raw ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from fairground import contracts, evaluation
from fairground.evaluation import EmbeddingView, Evaluation, analyse, evaluate_in_detail
from fairground.training.assemble import Assembled


def measure(parts: Assembled, embeddings: torch.Tensor, rows: np.ndarray) -> Evaluation:
    asked = parts.spec.evaluation
    return evaluate_in_detail(view_of(parts, embeddings, rows), asked.metrics, lone=asked.lone, rerank=asked.rerank)


def analyse_train(
    parts: Assembled, embeddings: torch.Tensor, analyses: Sequence[str]
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Return the numbers that analyses find in the training split, and their curves as `analysis/curve`."""
    view = EmbeddingView(embeddings, parts.table.labels[parts.split.train], normalise=parts.on_sphere)
    found = analyse(view, analyses=analyses).items()
    curves = {f"{name}/{curve}": values for name, one in found for curve, values in one.curves.items()}
    return {name: value for _, one in found for name, value in one.values.items()}, curves


def view_of(parts: Assembled, embeddings: torch.Tensor, rows: np.ndarray, **others: Any) -> EmbeddingView:
    """Return the view to evaluate: unit vectors unless the loss compares raw embeddings; `others` are its settings."""
    asked = parts.spec.evaluation
    if asked.principal_axes:
        embeddings = evaluation.pretrained_embeddings(embeddings, dim=asked.principal_axes)
    settings = {"normalise": parts.on_sphere, "clustering_seeds": asked.clustering_seeds, "distance": parts.distance}
    return view_of_rows(parts.table, embeddings, rows, relevance=asked.relevance, **{**settings, **others})


def view_of_rows(
    table: contracts.ImageTable,
    embeddings: torch.Tensor,
    rows: np.ndarray,
    *,
    relevance: str = "label",
    **settings: Any,
) -> EmbeddingView:
    """Return the view of embeddings of some rows; queries search the gallery where the data set tells them apart."""
    levels = table.levels() if relevance == "levels" else None
    labels = levels if levels is not None else table.labels if table.label_sets is None else table.label_sets
    if relevance != "label":
        settings["relevance"] = relevance
    queries, gallery = queries_and_gallery(table, rows)
    sides: list[Any] = [slice(None)] if queries is gallery else [queries, gallery]
    found = [array for side in sides for array in (embeddings[side], labels[rows][side])]
    own_groups = None if table.groups is None else table.groups[rows]
    if own_groups is None and len(sides) == 2 and len(np.intersect1d(queries, gallery)):
        # A row that searches and is searched does not find itself.
        own_groups = np.arange(len(rows))
    if own_groups is not None:
        groups = (own_groups[side] for side in sides)
        settings |= zip(("groups", "reference_groups"), groups, strict=False)
    return EmbeddingView(*found, **settings)


def queries_and_gallery(table: contracts.ImageTable, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the queries and what they search, as places in `rows`; one array of all rows where all search all."""
    if table.is_query is None or table.is_gallery is None or not table.is_query[rows].any():
        everything = np.arange(len(rows))
        return everything, everything
    return np.flatnonzero(table.is_query[rows]), np.flatnonzero(table.is_gallery[rows])
