"""ProxyNCA: each sample belongs near its class's proxy and far from the others.

Formula
    d_ic = || x_i/|x_i| - p_c/|p_c| ||
    inclusive:  L = mean_i  -log( exp(-scale d_i,y_i^power) / sum_c       exp(-scale d_ic^power) )
    exclusive:  L = mean_i  -log( exp(-scale d_i,y_i^power) / sum_{c != y_i} exp(-scale d_ic^power) ),  may be negative

Paper
    Movshovitz-Attias, Toshev, Leung, Ioffe and Singh, "No fuss distance metric learning using proxies", ICCV 2017, eq.
    4 (exclusive). Musgrave, Belongie and Lim, "A metric learning reality check", ECCV 2020 (inclusive).

Departures from the paper
    `scale` is added, 9 in the code of Roth et al. 2020 (both sides times 3); the paper has 1.
    `power = 1` is their eq. 13 as printed; their code, like the paper, squares the distance.
    With a single class the exclusive denominator is empty and the loss is 0.
"""

from typing import Literal

from torch import Generator, Tensor, inf

from fairground.contracts.loss import Loss, Real, Tuples
from fairground.functional import class_cross_entropy, class_vectors, cosines, is_held, safe_sqrt, zero_of


class ProxyNcaLoss(Loss):
    """`scale` sharpens the softmax; `positive_in_denominator` chooses between the inclusive and exclusive form.

    `initialisation`: N(0, 1), or Roth's `small_normal`, N(0, 1) / 8.
    """

    is_learnable = True
    tunable = {"scale": Real(low=0.01, high=100.0)}
    bounds = {"scale": "(0, inf)"}

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        scale: float = 9.0,
        positive_in_denominator: bool = True,
        power: Literal[1, 2] = 2,
        initialisation: Literal["normal", "small_normal", "uniform"] = "normal",
    ) -> None:
        super().__init__()
        self.n_classes, self.scale, self.positive_in_denominator = n_classes, scale, positive_in_denominator
        self.power = power
        self.proxies = class_vectors((n_classes, embedding_dim), initialisation)

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        if not self.positive_in_denominator and self.n_classes == 1:
            return zero_of(embeddings)
        if not is_held(len(labels), len(self.proxies)):
            return class_cross_entropy(
                embeddings,
                self.proxies,
                labels,
                scale=-self.scale,
                similarity=self._distances,
                own_in_sum=self.positive_in_denominator,
            )
        own = labels.unsqueeze(1)
        logits = -self.scale * self._distances(cosines(embeddings, self.proxies))
        rest = logits if self.positive_in_denominator else logits.scatter(1, own, -inf)
        return (rest.logsumexp(1, keepdim=True) - logits.gather(1, own)).sum() / max(1, len(labels))

    def _distances(self, cosine: Tensor) -> Tensor:
        squares = 2 - 2 * cosine
        return squares if self.power == 2 else safe_sqrt(squares.clamp_min(0))
