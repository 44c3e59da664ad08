"""Losses that are means over anchors or positive pairs of a batch; in blocks of anchors where the matrix is too large.

A *rule* takes the cosines of some anchors with all rows, its own to overwrite, and their pairs, and returns the mean
over them, its gradient by the cosines, and over how many it was taken. A mean is the mean of the blocks' means weighted
by their counts, so blocks need nothing of each other, and no more memory than one of them and the embeddings.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.contracts.tuples import Tuples
from fairground.functional import blocks
from fairground.kernels.batch_pairs import BatchPairs, ClassPairs, batch_pairs
from fairground.kernels.gradients import kernel_of_products, kernel_of_vectors

#: cosines (r, n) and the anchors' pairs -> the mean, its gradient (r, n), and its count ()
PairRule = Callable[[Tensor, BatchPairs], tuple[Tensor, Tensor, Tensor]]


def kernel_of_pairs(
    embeddings: Tensor, labels: Tensor, tuples: Tuples | None, rule: PairRule, *, repeats: bool = False, complete: bool
) -> KernelResult | None:
    """Return the rule's mean and its gradient.

    None where `complete` asks for positive and negative pairs and there are none.
    """
    n = len(labels)
    if tuples is None and not blocks.is_held(n, n):
        classes = ClassPairs.of(labels)
        if complete and not (classes.has_positives and classes.has_negatives):
            return None
        return kernel_in_blocks(embeddings, classes, [rule])
    pairs = batch_pairs(embeddings, labels, tuples, repeats=repeats)
    if complete and not pairs.are_complete:
        return None
    return kernel_of_products(embeddings, lambda cosines: rule(cosines, pairs)[:2], normalise=True)


def kernel_in_blocks(embeddings: Tensor, classes: ClassPairs, rules: Sequence[PairRule]) -> KernelResult:
    """Return the sum of the rules' means and its gradient; each mean is worked out by itself."""

    def of_units(units: Tensor) -> tuple[Tensor, Tensor]:
        total, gradient = _over_blocks(units, classes, rules[0])
        for rule in rules[1:]:
            value, by_unit = _over_blocks(units, classes, rule)
            total, gradient = total + value, gradient.add_(by_unit)
        return total, gradient

    return kernel_of_vectors(embeddings, of_units, normalise=True)


def _over_blocks(units: Tensor, classes: ClassPairs, rule: PairRule) -> tuple[Tensor, Tensor]:
    n = len(units)
    step = max(1, blocks.COMPARISONS // n)
    total, count = units.new_zeros((), dtype=torch.float64), 0.0
    gradient = torch.zeros_like(units)
    for start in range(0, n, step):
        rows = units[start : start + step]
        value, by_cosine, weight = rule(rows @ units.T, classes.pairs_of(start, len(rows)))
        share = float(weight)
        if share > 0:
            total += value * share
            count += share
            gradient[start : start + step].addmm_(by_cosine, units, alpha=share)
            gradient.addmm_(by_cosine.T, rows, alpha=share)
    return (total / max(1.0, count)).to(units.dtype), gradient.div_(max(1.0, count))
