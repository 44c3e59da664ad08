"""Several models on one set of images: evaluated as one, concatenated, or each by itself, separated.

Concatenated: each model's embeddings are brought to unit length, joined side by side, and evaluated once. Separated:
each model is evaluated and the scores are averaged. The two answer different questions, and a reality check reports
both (Musgrave, Belongie and Lim, "A metric learning reality check", ECCV 2020, section 3.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairground.errors import DataError, require
from fairground.evaluation import checked_arrays
from fairground.evaluation.metric_scores import Lone, evaluate
from fairground.functional.pairs import normalize
from fairground.retrieval.tiles import normalise_rows


@dataclass(frozen=True, kw_only=True)
class EnsembleScores:
    """Scores of the joined models, the mean over single models, and each single model's own."""

    concatenated: dict[str, float]
    separated: dict[str, float]
    each: tuple[dict[str, float], ...]


def evaluate_ensemble(
    models: Sequence[checked_arrays.Embeddings],
    labels: checked_arrays.Labels,
    metrics: Sequence[str] | None = None,
    *,
    normalise: bool = True,
    lone: Lone = "drop",
    seed: int = 1234,
    threads: int | None = None,
) -> EnsembleScores:
    """Return concatenated and separated scores of several models' embeddings of the same images, in one order."""
    joined = concatenate(models, normalise=normalise)

    def scores(embeddings: checked_arrays.Embeddings) -> dict[str, float]:
        return evaluate(embeddings, labels, metrics, normalise=normalise, lone=lone, seed=seed, threads=threads)

    each = tuple(scores(embeddings) for embeddings in models)
    separated = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    return EnsembleScores(concatenated=scores(joined), separated=separated, each=each)


def concatenate(models: Sequence[checked_arrays.Embeddings], *, normalise: bool = True) -> checked_arrays.Embeddings:
    """Return the models' embeddings side by side, each normalised first unless `normalise` is false."""
    require(len(models) > 0, "an ensemble needs one model at least", DataError)
    matrices = [checked_arrays.as_matrix(model, f"embeddings of model {k}") for k, model in enumerate(models)]
    sizes = sorted({len(matrix) for matrix in matrices})
    require(len(sizes) == 1, f"all models must embed the same images; got {sizes} rows", DataError)
    if all(isinstance(matrix, Tensor) for matrix in matrices):
        tensors = [torch.as_tensor(matrix) for matrix in matrices]
        return torch.cat([normalize(tensor) for tensor in tensors] if normalise else tensors, 1)
    blocks = []
    for matrix in matrices:
        block = np.array(matrix.cpu() if isinstance(matrix, Tensor) else matrix, order="C")
        block = block if block.dtype == np.float64 else block.astype(np.float32)
        if normalise:
            normalise_rows(block)
        blocks.append(block)
    return np.concatenate(blocks, 1)
