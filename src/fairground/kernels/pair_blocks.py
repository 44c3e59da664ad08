"""Losses that are means over anchors or positive pairs of a batch; in blocks of anchors where the matrix is too large.

A *rule* takes the cosines of some anchors with all rows, its own to overwrite, and their pairs, and returns the mean
over them, its gradient by the cosines, and over how many it was taken. A mean is the mean of the blocks' means weighted
by their counts, so blocks need nothing of each other, and no more memory than one of them and the embeddings.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.functional import blocks
from fairground.kernels.batch_pairs import BatchPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products, kernel_of_vectors

#: cosines (r, n) and the anchors' pairs -> the mean, its gradient (r, n), and its count ()
PairRule = Callable[[Tensor, BatchPairs], tuple[Tensor, Tensor, Tensor]]

#: pairs of one class that may be listed: where classes are larger, the formula works through the matrix
MOST_LISTED = 2**22


def kernel_of_pairs(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, rule: PairRule, *, repeats: bool = False, complete: bool
) -> KernelResult | None:
    """Return the rule's mean and its gradient.

    None where `complete` asks for positive and negative pairs and there are none, and where there are too many pairs of
    one class to list.
    """
    n = len(labels)
    is_held = tuples is not None or blocks.is_held(n, n)
    if not is_held and int(torch.unique(labels, return_counts=True)[1].square().sum()) > MOST_LISTED:
        return None
    pairs = batch_pairs(embeddings, labels, tuples, repeats=repeats)
    if complete and not pairs.are_complete:
        return None
    if is_held:
        return kernel_of_products(embeddings, lambda cosines: rule(cosines, pairs)[:2], normalise=True)
    return kernel_of_vectors(embeddings, lambda units: _over_blocks(units, pairs, rule), normalise=True)


def _over_blocks(units: Tensor, pairs: BatchPairs, rule: PairRule) -> tuple[Tensor, Tensor]:
    n = len(units)
    step = max(1, blocks.COMPARISONS // n)
    by_anchor, by_own = pairs.anchor.argsort(), (pairs.own // n).argsort()
    starts = torch.arange(0, n + step, step).clamp_max_(n)
    first_pair = torch.searchsorted(pairs.anchor[by_anchor], starts).tolist()
    first_own = torch.searchsorted((pairs.own // n)[by_own], starts).tolist()
    total, count = units.new_zeros((), dtype=torch.float64), 0.0
    gradient = torch.zeros_like(units)
    for block, start in enumerate(starts[:-1].tolist()):
        rows = units[start : start + step]
        chosen = by_anchor[first_pair[block] : first_pair[block + 1]]
        own = pairs.own[by_own[first_own[block] : first_own[block + 1]]] - start * n
        some = pairs.where(chosen)
        anchor, place = some.anchor - start, some.place - start * n
        some = some._replace(n=len(rows), anchor=anchor, place=place, own=own, first_row=start)
        value, by_cosine, weight = rule(rows @ units.T, some)
        share = float(weight)
        if share > 0:
            total += value * share
            count += share
            gradient[start : start + step].addmm_(by_cosine, units, alpha=share)
            gradient.addmm_(by_cosine.T, rows, alpha=share)
    return (total / max(1.0, count)).to(units.dtype), gradient.div_(max(1.0, count))
