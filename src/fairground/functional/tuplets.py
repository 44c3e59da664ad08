"""log(1 + sum over negatives of exp(u_an - v_ap)) of every positive pair, in O(n^2).

The sum over negatives depends on the anchor alone: with U_a = log sum_n exp(u_an) the term of a pair is
softplus(U_a - v_ap).
"""

from torch import Tensor

from fairground.functional.logsumexp import softplus, weighted_logsumexp
from fairground.functional.pairs import PairWeights


def tuplet_terms(pairs: PairWeights, negative: Tensor, positive: Tensor) -> Tensor:
    """Return the terms (n, n) of all pairs (a, p) for u = `negative` (n, n) and v = `positive` (n, n).

    A term is 0 where the anchor has no negative. Terms of pairs without weight mean nothing.
    """
    return softplus(weighted_logsumexp(negative, pairs.negative).unsqueeze(1) - positive)
