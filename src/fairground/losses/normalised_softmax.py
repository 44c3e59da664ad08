"""Normalised softmax: classify unit embeddings by their cosine with unit class weights, sharpened by a temperature.

Formula
    L = mean_i  -log( exp(s_i,y_i / T) / sum_c exp(s_ic / T) ),   s_ic = cos(x_i, w_c)

Paper
    Zhai and Wu, "Classification is a strong baseline for deep metric learning", BMVC 2019, section 3.
    Musgrave, Belongie and Lim, "A metric learning reality check", ECCV 2020 ("N. Softmax").

Departures from the paper
    None. (Roth et al., ICML 2020, eq. 19, leaves the own class out of the denominator in print; their code does not.)
"""

from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional.prototypes import class_cross_entropy, class_vectors


class NormalisedSoftmaxLoss(Loss):
    """`temperature` T divides the cosines. `initialisation`: N(0, 1), or Roth's U(-1, 1) / sqrt(embedding_dim)."""

    is_learnable = True
    tunable = {"temperature": LogReal(low=0.01, high=100.0)}
    bounds = {"temperature": "(0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        temperature: float = 0.05,
        initialisation: Literal["normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.temperature = n_classes, temperature
        self.weights = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        return class_cross_entropy(embeddings, self.weights, labels, similarity=lambda s: s / self.temperature)
