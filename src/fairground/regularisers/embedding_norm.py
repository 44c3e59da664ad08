"""Embedding-norm regulariser: keeps the raw embeddings short.

Formula
    R = weight * mean_i ||x_i||^power

Paper
    Sohn, "Improved Deep Metric Learning with Multi-class N-pair Loss Objective", NIPS 2016, section 3.2.2; Roth et al.,
    ICML 2020, equations 3 to 5.

Departures from the paper
    Both print the square (power 2); Roth's code, like most others, takes the plain norm, which is the default here.
"""

from typing import Literal

from torch import Tensor

from fairground.contracts.regulariser import LogReal, Loss, Regulariser
from fairground.functional.pair_distances import safe_sqrt


class EmbeddingNormRegulariser(Regulariser):
    """`weight` multiplies the mean norm, to the first or second `power`."""

    tunable = {"weight": LogReal(low=1e-5, high=0.1)}
    bounds = {"weight": "[0, inf)"}

    def __init__(self, *, weight: float = 0.005, power: Literal[1, 2] = 1) -> None:
        super().__init__()
        self.weight, self.power = weight, power

    def penalty(self, embeddings: Tensor, labels: Tensor, loss: Loss) -> Tensor:
        squares = embeddings.square().sum(1)
        return self.weight * (squares if self.power == 2 else safe_sqrt(squares)).mean()
