"""log(1 + sum over negatives of exp(u_an - v_ap)) of every positive pair, without a (pairs, negatives) matrix.

The sum over negatives depends on the anchor alone: with U_a = log sum_n exp(u_an) the term of a pair is
softplus(U_a - v_ap). One log-sum-exp a row and one softplus a positive pair make O(n^2) of what looks like O(n^3).
"""

from math import inf
from typing import NamedTuple

from torch import Tensor

from fairground.functional.logsumexp import RowSums, row_sums_, softplus
from fairground.functional.pairs import BatchPairs
from fairground.kernels.gradients import of_products


class Tuplets(NamedTuple):
    """`terms` (k,) of the positive pairs; `pull` (k,) is the slope of each by U_a, and minus its slope by v_ap."""

    pairs: BatchPairs
    negatives: RowSums
    terms: Tensor
    pull: Tensor

    def slopes_(self, push: Tensor, pull: Tensor) -> Tensor:
        """Return (n, n): `push` (k,) shared out over the negatives of each pair's anchor, less `pull` (k,) at the pair.

        It lies in the memory of the logits, and can be asked for once.
        """
        slopes = self.negatives.shares_(self.pairs.per_anchor(push))
        return slopes.put_(self.pairs.place, -pull, accumulate=True)


def tuplets_(logits: Tensor, positive: Tensor, pairs: BatchPairs, *, within: float = inf) -> Tuplets:
    """Return the terms for u = `logits` (n, n), which are overwritten, and v = `positive` (k,).

    `within` bounds the magnitude of the logits.
    """
    negatives = row_sums_(pairs.keep_negatives_(logits), within=within)
    gap = negatives.log.take(pairs.anchor) - positive
    return Tuplets(pairs, negatives, softplus(gap), gap.sigmoid())


def tuplet_loss(embeddings: Tensor, pairs: BatchPairs, *, normalise: bool) -> Tensor:
    """Return the mean term for u = v = the products, or the cosines, of the embeddings: the N-pair loss."""

    def loss_and_slopes(products: Tensor) -> tuple[Tensor, Tensor]:
        tuplets = tuplets_(products, products.take(pairs.place), pairs, within=1 if normalise else inf)
        pull = tuplets.pull / len(tuplets.pull)
        return tuplets.terms.mean(), tuplets.slopes_(pull, pull)

    return of_products(embeddings, loss_and_slopes, normalise=normalise)
