"""Contrast without the positive in its own denominator."""

from torch import Tensor, stack, where

from fairground.contracts.loss import Tuples
from fairground.functional import PairWeights, normalize, over_rows, pair_weights, rows_of, sum_over_rows
from fairground.functional.means_and_log_sums import NOTHING, mean_of_parts, weighted_logsumexp, weighted_parts


def decoupled_contrast(
    embeddings: Tensor,
    labels: Tensor,
    tuples: Tuples | None,
    temperature: float,
    sigma: float | None,
    *,
    per_anchor: bool,
) -> Tensor:
    """Return the mean over positive pairs of  log sum_n e^(s_an/T) - w_ap s_ap/T, or over anchors of their mean.

    w_ap is 1 or, with a `sigma`, 2 - e^(s_ap/sigma) / mean e^(s/sigma) over positive pairs. A pair whose anchor has no
    negative does not count. Repeats of a miner's pair count unless `per_anchor`.
    """
    z = normalize(embeddings)

    def pairs_and_cosines(rows: slice) -> tuple[PairWeights, Tensor]:
        pairs = pair_weights(embeddings, labels, tuples, repeats=not per_anchor, rows=rows)
        return pairs, rows_of(z, rows) @ z.T

    if sigma is not None:

        def positive_sums(rows: slice) -> Tensor:
            pairs, cosines = pairs_and_cosines(rows)
            return stack([weighted_logsumexp(cosines / sigma, pairs.positive).logsumexp(0), pairs.positive.sum()])

        log_sums, counts = over_rows(positive_sums, len(z), len(z)).T
        log_mean = log_sums.logsumexp(0) - counts.sum().clamp_min(1).log()

    def parts(rows: slice) -> Tensor:
        pairs, cosines = pairs_and_cosines(rows)
        logits = cosines / temperature
        pull = logits
        if sigma is not None:
            pull = logits * (2 - where(pairs.positive > 0, cosines / sigma - log_mean, NOTHING).exp())
        weights = pairs.positive * pairs.negative.any(1, keepdim=True)
        if per_anchor:
            weights = weights / weights.sum(1, keepdim=True).clamp_min(1)
        return weighted_parts(weighted_logsumexp(logits, pairs.negative).unsqueeze(1) - pull, weights)

    return mean_of_parts(sum_over_rows(parts, len(z), len(z)))
