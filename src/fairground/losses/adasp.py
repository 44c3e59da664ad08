"""AdaSP: per class, one sparse positive between its hardest and its least hard pair, against all samples of others.

Formula
    for class c and temperature T, with s the cosine and j = i included:
    h_c = -log sum_{i,j in c} e^(-s_ij/T)                      the hardest positive
    e_c = log sum_{i in c} 1 / sum_{j in c} e^(-s_ij/T)        the least hard of the rows' hardest
    w_c = 2 H E / (H + E) where H > 0, else 0;  H = T h_c, E = T e_c, constants to the gradient
    p_c = w_c h_c + (1 - w_c) e_c;  with `positive = hardest` h_c, with `least_hard` e_c
    L = mean over classes of log(1 + sum_{i in c, j not in c} e^(s_ij/T) / e^p_c)

Paper
    Zhou, Zhu, Wei, Liu and Liu, "Adaptive Sparse Pairwise Loss for Object Re-Identification", CVPR 2023, section 3.

Departures from the paper
    Classes may have different sizes. A class with one sample in the batch has no positive pair: it is a negative of
    others only.
"""

from typing import Literal

import torch
from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional import NOTHING, normalize, softplus


class AdaspLoss(Loss):
    """`temperature` divides the cosines; `positive` is the sparse positive of a class."""

    tunable = {"temperature": LogReal(low=0.01, high=1.0)}
    bounds = {"temperature": "(0, inf)"}

    def __init__(
        self, *, temperature: float = 0.04, positive: Literal["adaptive", "hardest", "least_hard"] = "adaptive"
    ) -> None:
        super().__init__()
        self.temperature, self.positive = temperature, positive

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        z = normalize(embeddings)
        logits = z @ z.T / self.temperature
        same = labels.unsqueeze(1) == labels
        sizes = same.sum(1).to(z.dtype)

        def over_class(of_row: Tensor) -> Tensor:
            return torch.where(same, of_row, NOTHING).logsumexp(1)

        # Everything of a class stands in each of its rows, which then count 1 / size.
        hard = over_class(-logits)
        hardest, least_hard = -over_class(hard), over_class(-hard)
        negatives = over_class(torch.where(same, NOTHING, logits).logsumexp(1))
        positive = {"hardest": hardest, "least_hard": least_hard}.get(self.positive)
        if positive is None:
            low, high = ((self.temperature * value).detach() for value in (hardest, least_hard))
            weight = torch.where(low > 0, 2 * low * high / (low + high), 0)
            positive = weight * hardest + (1 - weight) * least_hard
        shares = (sizes > 1) / sizes
        return (softplus(negatives - positive) * shares).sum() / shares.sum().clamp_min(1)
