"""SoftTriple: softmax over classes with several centres each, of which the near ones count most.

Formula
    w_ck unit centres, k = 1..K;   s_ick = cos(x_i, w_ck)
    S_ic = sum_k softmax_k(s_ick / gamma) s_ick
    L = mean_i  -log softmax_c( scale * (S_ic - margin [c = y_i]) )  at c = y_i
        + reg_weight * ( sum_c sum_{k<l} sqrt(2 - 2 w_ck.w_cl) ) / (C K (K - 1))

Paper
    Qian, Shang, Sun, Hu, Li and Jin, "SoftTriple loss: deep metric learning without triplet sampling", ICCV 2019,
    eqs. 6-9 (scale is its lambda, margin its delta, reg_weight its tau).

Departures from the paper
    The root is taken of max(1e-12, .), where the authors' code adds 1e-5. With K = 1 the second term is 0.
    `reg_divisor = "pairs"` divides by C K (K - 1) / 2, as the library of the Reality Check experiments did (E29).
    `roth_code` is the released code of Roth et al., ICML 2020: dimensions instead of centres are scaled to length one,
    the inner softmax runs over classes and multiplies by gamma (E30).
"""

from math import sqrt
from typing import Literal

from torch import Generator, Tensor, empty, nn, triu_indices

from fairground.contracts.loss import Loss, Real, Tuples
from fairground.functional import normalize, prototypes


class SoftTripleLoss(Loss):
    """`n_centres` K a class, in `centres` (n_classes, n_centres, embedding_dim); `reg_weight` draws them together.

    They begin as U(-1, 1) / sqrt(n_classes * n_centres), which is what the authors', Roth's and other code all do.
    """

    is_learnable = True
    tunable = {
        "scale": Real(low=0.01, high=100.0),
        "gamma": Real(low=1e-4, high=100.0),
        "reg_weight": Real(low=0.0, high=1.0),
        "margin": Real(low=0.0, high=1.0),
    }
    bounds = {
        "n_centres": "[1, inf)",
        "scale": "(0, inf)",
        "gamma": "(0, inf)",
        "margin": "[0, 2]",
        "reg_weight": "[0, inf)",
    }

    def __init__(
        self,
        *,
        n_classes: int,
        embedding_dim: int,
        n_centres: int = 10,
        scale: float = 20.0,
        gamma: float = 0.1,
        margin: float = 0.01,
        reg_weight: float = 0.2,
        reg_divisor: Literal["ckk", "pairs"] = "ckk",
        roth_code: bool = False,
    ) -> None:
        super().__init__()
        self.n_classes, self.scale, self.gamma, self.margin = n_classes, scale, gamma, margin
        self.reg_weight, self.reg_divisor, self.roth_code = reg_weight, reg_divisor, roth_code
        bound = 1 / sqrt(n_classes * n_centres)
        self.centres = nn.Parameter(empty(n_classes, n_centres, embedding_dim).uniform_(-bound, bound))

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        if self.roth_code:
            return self._as_released(embeddings, labels)
        # Before the entropy: the order of the graph is the order in which gradients of the centres are added.
        spread = prototypes.centre_spread(self.centres.to(embeddings.dtype), per_pair=self.reg_divisor == "pairs")
        entropy = prototypes.class_cross_entropy(
            embeddings,
            self.centres,
            labels,
            scale=self.scale,
            similarity=lambda cosine: ((cosine / self.gamma).softmax(1) * cosine).sum(1),
            own_similarity=lambda own: own - self.margin,
        )
        return entropy + self.reg_weight * spread

    def known_bugs(self) -> tuple[str, ...]:
        sentence = "soft_triple.roth_code: wrong axes and gamma inverted, as in the released code of Roth et al. (E30)"
        return (sentence,) if self.roth_code else ()

    def _as_released(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        n_classes, n_centres, _ = self.centres.shape
        centres = nn.functional.normalize(self.centres.to(embeddings.dtype).flatten(0, 1), dim=0)
        to_centres = (normalize(embeddings) @ centres.T).view(-1, n_classes, n_centres)
        similarity = ((to_centres * self.gamma).softmax(1) * to_centres).sum(2)
        first, second = triu_indices(n_centres, n_centres, offset=1, device=labels.device)
        by_class = centres.view(n_classes, n_centres, -1)
        products = (by_class @ by_class.transpose(1, 2))[:, first, second]
        spread = (2.00001 - 2 * products).sqrt().sum() / max(1, n_classes * n_centres * (n_centres - 1))
        own = labels.unsqueeze(1)
        handicapped = similarity.scatter_add(1, own, similarity.new_full(own.shape, -self.margin))
        return prototypes.mean_cross_entropy(self.scale * handicapped, labels) + self.reg_weight * spread
