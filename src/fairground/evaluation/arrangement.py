"""Embeddings put in search order, as tiles for the CPU or as tensors where they already are."""

import numpy as np
import torch
from torch import Tensor

from fairground.evaluation import inputs
from fairground.evaluation.relevance import Relevance
from fairground.functional.distances import normalize
from fairground.retrieval.device_ranks import DeviceSearchPlan
from fairground.retrieval.search_plan import SearchPlan, find_duplicate_rows
from fairground.retrieval.tiles import Tiles, edge_for

Groups = tuple[np.ndarray | None, np.ndarray | None]


def arranged(
    embeddings: inputs.Embeddings,
    references: inputs.Embeddings | None,
    query_rows: np.ndarray | None,
    relevance: Relevance,
    groups: Groups,
    *,
    is_raw: bool,
) -> SearchPlan:
    """Return queries and references as tiles; vectors of unit length unless `is_raw`."""
    theirs = embeddings if references is None else references
    rows = relevance.query_order if query_rows is None else query_rows[relevance.query_order]
    is_one_set = references is None and query_rows is None
    dtype = inputs.working_dtype(embeddings, theirs, exact=is_raw)
    edge = edge_for(len(rows), len(theirs))
    reference_tiles = _tiles(theirs, relevance.reference_order, edge, dtype, not is_raw)
    query_tiles = reference_tiles if is_one_set else _tiles(embeddings, rows, edge, dtype, not is_raw)
    mine, other = groups
    return SearchPlan(
        queries=query_tiles,
        references=reference_tiles,
        is_one_set=is_one_set,
        own=relevance.own,
        half_lengths=reference_tiles.half_squared_lengths() if is_raw else None,
        query_groups=None if mine is None else mine[relevance.query_order],
        reference_groups=None if other is None else other[relevance.reference_order],
        duplicates=find_duplicate_rows(query_tiles, reference_tiles),
    )


def arranged_on_device(
    embeddings: Tensor,
    references: inputs.Embeddings | None,
    query_rows: np.ndarray | None,
    relevance: Relevance,
    groups: Groups,
    *,
    is_raw: bool,
) -> DeviceSearchPlan:
    """Return queries and references as tensors on the device of `embeddings`."""
    theirs = embeddings if references is None else references
    rows = relevance.query_order if query_rows is None else query_rows[relevance.query_order]
    dtype = torch.float64 if inputs.working_dtype(embeddings, theirs, exact=is_raw) == np.float64 else torch.float32

    def moved(values: inputs.Embeddings) -> Tensor:
        return torch.as_tensor(values, device=embeddings.device)

    def sorted_side(matrix: inputs.Embeddings, order: np.ndarray) -> Tensor:
        side = moved(matrix)[moved(order)].to(dtype)
        return side if is_raw else normalize(side)

    in_order = sorted_side(theirs, relevance.reference_order)
    distinct, kind = torch.unique(in_order, dim=0, return_inverse=True)
    mine, other = groups
    return DeviceSearchPlan(
        queries=sorted_side(embeddings, rows),
        # Equal rows must score equally, which a product does not promise: each distinct row is multiplied once.
        references=distinct,
        kind=kind,
        numbers=moved(relevance.reference_order),
        own=moved(relevance.own),
        half_lengths=distinct.square().sum(1) / 2 if is_raw else None,
        query_groups=None if mine is None else moved(mine[relevance.query_order]),
        reference_groups=None if other is None else moved(other[relevance.reference_order]),
    )


def _tiles(matrix: inputs.Embeddings, index: np.ndarray, edge: int, dtype: np.dtype, is_unit: bool) -> Tiles:
    on_cpu = matrix.cpu().numpy() if isinstance(matrix, Tensor) else matrix
    tiles = Tiles(on_cpu, index.astype(np.int32), edge, dtype, is_unit)
    # A memory-mapped file may be larger than memory: its tiles are read when they are needed.
    return tiles if isinstance(on_cpu, np.memmap) else tiles.in_memory()
