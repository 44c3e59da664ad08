"""Sigmoid pairs: every pair of a batch is a question of its own, "same class or not?", answered by logistic regression.

Formula
    L = 1/n sum_a sum_{j != a} log(1 + e^(-y_aj (t s_aj + b))),  s the cosine, y_aj = 1 in one class and -1 otherwise
    t = scale * e^u and b = bias + v, with u and v learned from 0

Paper
    Zhai, Mustafa, Kolesnikov and Beyer, "Sigmoid Loss for Language Image Pre-Training", ICCV 2023, section 3.2.

Departures from the paper
    Labels say which pairs match, where the paper has an image and its caption. Its bias starts at -10, right for one
    match in 10^4 pairs; without a `bias`, ours is the log odds of a positive pair in the batch. `balanced` divides the
    positives of an anchor by their number, and its negatives by theirs. With a miner's tuples the sum is over those.
"""

import torch
from torch import Generator, Tensor, nn

from fairground.contracts.loss import LogReal, Loss, Pairs, Triplets, Tuples
from fairground.functional import normalize, pair_weights, rows_of, softplus, sum_over_rows


class SigmoidPairsLoss(Loss):
    """`scale` is the slope of the sigmoid over cosines and `bias` its offset, where both start out."""

    accepts = (Pairs, Triplets)
    is_learnable = True
    takes_label_sets = True
    tunable = {"scale": LogReal(low=1.0, high=100.0)}
    bounds = {"scale": "(0, inf)"}

    def __init__(self, *, scale: float = 10.0, bias: float | None = None, balanced: bool = False) -> None:
        super().__init__()
        self.scale, self.bias, self.balanced = scale, bias, balanced
        self.log_scale_change, self.bias_change = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        scale = self.scale * self.log_scale_change.to(z.dtype).exp()

        def n_pairs(rows: slice) -> Tensor:
            weights = pair_weights(embeddings, labels, tuples, repeats=True, rows=rows)
            return torch.stack([some.sum(dtype=torch.long) for some in weights])

        start = self.bias
        if start is None:
            # No pair of a kind counts as one.
            positives, negatives = sum_over_rows(n_pairs, len(z), len(z)).clamp_min(1).to(z.dtype).log()
            start = positives - negatives
        bias = start + self.bias_change.to(z.dtype)

        def block_sum(rows: slice) -> Tensor:
            logits = scale * (rows_of(z, rows) @ z.T) + bias
            positive, negative = pair_weights(embeddings, labels, tuples, repeats=True, rows=rows)
            if self.balanced:
                positive, negative = (some / some.sum(1, keepdim=True).clamp_min(1) for some in (positive, negative))
            return (positive * softplus(-logits) + negative * softplus(logits)).sum()

        return sum_over_rows(block_sum, len(z), len(z)) / max(1, len(z))
