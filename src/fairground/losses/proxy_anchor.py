"""Proxy-Anchor: each class's proxy is an anchor that draws its samples and pushes all others, the hardest most.

Formula
    s_ic = cos(x_i, p_c);   C+ the classes present in the batch
    L = 1/|C+| sum_{c in C+} log(1 + sum_{i: y_i = c}  exp(-alpha (s_ic - margin)))
      + 1/C    sum_c         log(1 + sum_{i: y_i != c} exp( alpha (s_ic + margin)))

Paper
    Kim, Kim, Cho and Kwak, "Proxy anchor loss for deep metric learning", CVPR 2020, eq. 4.

Departures from the paper
    None.
"""

from torch import Generator, Tensor, arange, empty, inf, nn, stack, where

from fairground.contracts.loss import LogReal, Loss, Real, Tuples
from fairground.functional import cosines, log_one_plus_sum_exp, rows_of, sum_over_rows


class ProxyAnchorLoss(Loss):
    """`alpha` sharpens the choice of hard samples; `margin` is asked of both parts.

    `proxies` begin as N(0, 2 / n_classes), the authors' Kaiming initialisation by fan-out.
    """

    is_learnable = True
    tunable = {"margin": Real(low=0.0, high=1.0), "alpha": LogReal(low=1.0, high=100.0)}
    bounds = {"margin": "[-1, 1]", "alpha": "(0, inf)"}

    def __init__(self, *, n_classes: int, embedding_dim: int, margin: float = 0.1, alpha: float = 32.0) -> None:
        super().__init__()
        self.n_classes, self.margin, self.alpha = n_classes, margin, alpha
        self.proxies = nn.Parameter(empty(n_classes, embedding_dim))
        nn.init.kaiming_normal_(self.proxies, mode="fan_out")

    def formula(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        n_classes = len(self.proxies)

        def parts(classes: slice) -> Tensor:
            cosine = cosines(embeddings, rows_of(self.proxies, classes))
            is_own = labels.unsqueeze(1) == arange(classes.start, classes.stop, device=labels.device)
            near = where(is_own, -self.alpha * (cosine - self.margin), -inf)
            far = where(is_own, -inf, self.alpha * (cosine + self.margin))
            n_present = is_own.any(0).sum().to(cosine.dtype)
            pull, push = log_one_plus_sum_exp(near, 0).sum(), log_one_plus_sum_exp(far, 0).sum() / n_classes
            return stack([pull, n_present, push])

        pull, n_present, push = sum_over_rows(parts, n_classes, len(labels)).unbind()
        return pull / n_present.clamp_min(1) + push
