"""log(1 + sum over negatives of exp(u_an - v_ap)) of listed positive pairs, and its gradient; equals `tuplet_terms`.

One log-sum-exp a row and one softplus a positive pair make O(n^2) of what looks like O(n^3).
"""

from math import inf
from typing import NamedTuple

from torch import Tensor

from fairground.functional.logsumexp import softplus
from fairground.kernels.batch_pairs import BatchPairs
from fairground.kernels.log_sums import RowSums, row_sums_


class Tuplets(NamedTuple):
    """`terms` (k,) of the positive pairs; `pull` (k,) is the gradient of each by U_a, and minus that by v_ap."""

    pairs: BatchPairs
    negatives: RowSums
    terms: Tensor
    pull: Tensor

    def gradient_(self, push: Tensor, pull: Tensor) -> Tensor:
        """Return (n, n): `push` (k,) shared out over the negatives of each pair's anchor, less `pull` (k,) at the pair.

        It lies in the memory of the logits, and can be asked for once.
        """
        gradient = self.negatives.shares_(self.pairs.per_anchor(push))
        return gradient.put_(self.pairs.place, -pull, accumulate=True)


def tuplets_(logits: Tensor, positive: Tensor, pairs: BatchPairs, *, within: float = inf) -> Tuplets:
    """Return the terms for u = `logits` (n, n), which are overwritten, and v = `positive` (k,).

    `within` bounds the magnitude of the logits.
    """
    negatives = row_sums_(pairs.keep_negatives_(logits), within=within)
    gap = negatives.log.take(pairs.anchor) - positive
    return Tuplets(pairs, negatives, softplus(gap), gap.sigmoid())
