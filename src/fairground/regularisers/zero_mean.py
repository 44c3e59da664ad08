"""Zero-mean regulariser: the coordinates of every embedding shall add up to nothing.

Formula
    R = weight * mean_i | sum_m z_im |,  z_i = x_i / ||x_i||

Paper
    Yuan, Deng, Tang, Tang and Chen, "Signal-to-Noise Ratio: A Robust Distance Metric for Deep Metric Learning",
    CVPR 2019, equation 10.

Departures from the paper
    For any loss, not only for SNR; that loss has the same term as its own setting.
"""

from torch import Tensor

from fairground.contracts.regulariser import Loss, Real, Regulariser
from fairground.functional.pair_distances import normalize


class ZeroMeanRegulariser(Regulariser):
    """`weight` multiplies the mean absolute sum of coordinates."""

    tunable = {"weight": Real(low=0.0, high=1.0)}
    bounds = {"weight": "[0, inf)"}

    def __init__(self, *, weight: float = 0.005) -> None:
        super().__init__()
        self.weight = weight

    def penalty(self, embeddings: Tensor, labels: Tensor, loss: Loss) -> Tensor:
        return self.weight * normalize(embeddings).sum(1).abs().mean()
