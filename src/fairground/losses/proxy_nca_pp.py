"""ProxyNCA++: the probability of the own proxy among all proxies, at a low temperature.

Formula
    L = mean_i  -log( exp(-d_i,y_i^2 / T) / sum_c exp(-d_ic^2 / T) ),   d_ic = || x_i/|x_i| - p_c/|p_c| ||

Paper
    Teh, DeVries and Taylor, "ProxyNCA++: revisiting and revitalizing proxy neighborhood component analysis", ECCV 2020,
    sections 3.2 and 3.3 (eqs. 5-6), T = 1/9.

Departures from the paper
    None in the loss. The paper's other parts live elsewhere: global max pooling and layer norm in the model, the
    hundred times higher learning rate of the proxies in the optimiser, class-balanced batches in the sampler.
    On unit vectors d^2 = 2 - 2 cos, so this is ProxyNCA in its inclusive form with scale 1/T, and normalised softmax
    with temperature T/2; what differs are the defaults.
"""

from typing import Literal

from torch import Generator, Tensor

from fairground.contracts.loss import LogReal, Loss, Tuples
from fairground.functional.prototypes import class_cross_entropy, class_vectors


class ProxyNcaPpLoss(Loss):
    """`temperature` T divides the squared distances. `initialisation`: N(0, 1) / 8 as the authors do, or N(0, 1)."""

    is_learnable = True
    tunable = {"temperature": LogReal(low=0.01, high=1.0)}
    bounds = {"temperature": "(0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        temperature: float = 0.1111111111111111,
        initialisation: Literal["small_normal", "normal", "uniform"] = "small_normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.temperature = n_classes, temperature
        self.proxies = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        def similarity(cosine: Tensor) -> Tensor:
            return -(2 - 2 * cosine) / self.temperature

        return class_cross_entropy(embeddings, self.proxies, labels, similarity=similarity)
