"""Learnable class vectors: the cosines of embeddings with them, the softmax over those, the spread of several."""

from collections.abc import Callable
from math import pi, sin, sqrt

import torch

from fairground.functional import NOTHING, is_held, normalize, over_rows

#: cosines stay this far from -1 and 1, where the slope of arccos is infinite
CLEARANCE = 1e-7
#: squared distances between centres count as at least this: the slope of the root is infinite where two coincide
NEAREST = 1e-12


def class_vectors(shape: tuple[int, ...], initialisation: str) -> torch.nn.Parameter:
    """Return a parameter of shape (n_classes, embedding_dim) or (n_classes, n_centres, embedding_dim).

    `normal` is N(0, 1), `small_normal` N(0, 1) / 8, `uniform` U(-1, 1) / sqrt(embedding_dim). All three point in
    random directions; they differ in length, and a short vector turns faster under the same step.
    """
    vectors = torch.empty(shape)
    if initialisation == "uniform":
        bound = 1 / sqrt(shape[-1])
        torch.nn.init.uniform_(vectors, -bound, bound)
    else:
        torch.nn.init.normal_(vectors, std=1.0 if initialisation == "normal" else 1 / 8)
    return torch.nn.Parameter(vectors)


def cosines(embeddings: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
    """Return the cosine of every embedding (n, d) with every class vector (m, d) as (n, m)."""
    return normalize(embeddings) @ normalize(vectors.to(embeddings.dtype)).T


def mean_cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean of -log softmax of the logits (n, C) at the own class; 0 for an empty batch."""
    return torch.nn.functional.cross_entropy(logits, labels, reduction="sum") / max(1, len(labels))


def class_cross_entropy(
    embeddings: torch.Tensor,
    vectors: torch.Tensor,
    labels: torch.Tensor,
    *,
    scale: float | torch.Tensor = 1.0,
    similarity: Callable[[torch.Tensor], torch.Tensor] | None = None,
    own_similarity: Callable[[torch.Tensor], torch.Tensor] | None = None,
    own_in_sum: bool = True,
) -> torch.Tensor:
    """Return the mean over i of  log sum_c exp(scale s_ic) - scale s_i,y_i ; 0 for an empty batch.

    `vectors` are (C, d), or (C, K, d) for K centres of each class; `scale` may be one for each row, (n, 1).
    `similarity` makes s (n, c) of the cosines (n, c), or (n, K, c), with some classes; without it they are s.
    `own_similarity` replaces that with the own class; without `own_in_sum` the sum runs over the other classes. The
    cosines with a million classes are never held: blocks of classes give their part of each sum.
    """
    of_cosines = similarity or (lambda cosine: cosine)

    def with_classes(units: torch.Tensor, some: torch.Tensor) -> torch.Tensor:
        if some.ndim == 2:
            return units @ some.T
        # As (n, K, c): in that order a softmax or maximum over K is several times faster than over a short last axis.
        return (units @ some.transpose(0, 1).flatten(0, 1).T).view(len(units), some.shape[1], len(some))

    z = normalize(embeddings)
    w = normalize(vectors.to(embeddings.dtype))
    if own_in_sum and is_held(len(labels), vectors[..., 0].numel()):
        own_class = labels.unsqueeze(1)
        every = of_cosines(with_classes(z, w))
        if own_similarity is not None:
            every = every.scatter(1, own_class, own_similarity(every.gather(1, own_class)))
        return mean_cross_entropy(scale * every, labels)
    own = of_cosines((w[labels] @ z.unsqueeze(2)) if w.ndim == 3 else (z * w[labels]).sum(1, keepdim=True))
    own_logits = (scale * (own if own_similarity is None else own_similarity(own))).squeeze(1)

    def log_sums(classes: slice) -> torch.Tensor:
        logits = scale * of_cosines(with_classes(z, w[classes]))
        place = labels - classes.start
        is_here = (place >= 0) & (place < logits.shape[1])
        others = torch.zeros_like(logits, dtype=torch.bool)
        others.scatter_(1, place.clamp(0, logits.shape[1] - 1).unsqueeze(1), is_here.unsqueeze(1))
        return torch.where(others, NOTHING, logits).logsumexp(1)

    sums = over_rows(log_sums, len(w), len(z) * w[0, ..., 0].numel())
    sums = torch.cat([sums, own_logits.unsqueeze(0)]) if own_in_sum else sums
    return (sums.logsumexp(0) - own_logits).sum() / max(1, len(labels))


def angles(cosine: torch.Tensor) -> torch.Tensor:
    """Return arccos, kept a little away from 0 and pi."""
    return cosine.clamp(-1 + CLEARANCE, 1 - CLEARANCE).arccos()


def widened_cosine(theta: torch.Tensor, margin: float, *, fallback: bool) -> torch.Tensor:
    """Return cos(theta + margin), margin in radians.

    Past theta = pi - margin that cosine grows again, and would pull the sample away from its class; `fallback`
    continues with cos(theta) - margin * sin(margin), which keeps falling.
    """
    widened = (theta + margin).cos()
    return torch.where(theta + margin > pi, theta.cos() - margin * sin(margin), widened) if fallback else widened


def centre_spread(centres: torch.Tensor, *, per_pair: bool) -> torch.Tensor:
    """Return sum_c sum_{k<l} ||w_ck - w_cl|| over unit centres (C, K, d), divided by C K (K - 1).

    `per_pair` divides by the number of pairs, C K (K - 1) / 2, instead. With one centre a class there is no pair and
    the spread is 0.
    """
    n_centres = centres.shape[1]
    if n_centres == 1:
        return centres.sum() * 0
    on_sphere = normalize(centres)
    products = on_sphere @ on_sphere.transpose(1, 2)
    first, second = torch.triu_indices(n_centres, n_centres, offset=1, device=centres.device)
    distances = (2 - 2 * products[:, first, second]).clamp_min(NEAREST).sqrt()
    return distances.mean() if per_pair else distances.mean() / 2
