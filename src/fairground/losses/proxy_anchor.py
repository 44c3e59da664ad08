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

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from fairground.contracts.loss import Loss
from fairground.contracts.tuples import Tuples
from fairground.errors import require
from fairground.functional.logsumexp import group_sums
from fairground.functional.prototypes import class_indices, of_cosines
from fairground.spec.space import LogReal, Range, Real


class ProxyAnchorLoss(Loss):
    """`alpha` sharpens the choice of hard samples; `margin` is asked of both parts.

    `proxies` begin as N(0, 2 / n_classes), the authors' Kaiming initialisation by fan-out.
    """

    tunable: ClassVar[Mapping[str, Range]] = {
        "margin": Real(low=0.0, high=1.0),
        "alpha": LogReal(low=1.0, high=100.0),
    }

    def __init__(self, *, n_classes: int, embedding_dim: int, margin: float = 0.1, alpha: float = 32.0) -> None:
        super().__init__()
        require(n_classes >= 1, f"proxy_anchor.n_classes must be at least 1; got {n_classes}")
        require(embedding_dim >= 1, f"proxy_anchor.embedding_dim must be at least 1; got {embedding_dim}")
        require(-1 <= margin <= 1, f"proxy_anchor.margin must be in [-1, 1], the range of a cosine; got {margin}")
        require(alpha > 0, f"proxy_anchor.alpha must be above 0; got {alpha}")
        self.n_classes = n_classes
        self.margin = margin
        self.alpha = alpha
        self.proxies = nn.Parameter(torch.empty(n_classes, embedding_dim))
        nn.init.kaiming_normal_(self.proxies, mode="fan_out")

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        """Return the pull of the proxies present plus the push of all proxies."""
        own = class_indices(labels, self.n_classes, "proxy_anchor")
        return of_cosines(embeddings, self.proxies, lambda cosine: self._loss_and_slopes(cosine, own))

    def _loss_and_slopes(self, cosine: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        classes = own.squeeze(1)
        n_present = torch.bincount(classes).count_nonzero()
        near = (self.margin - cosine.gather(1, own).squeeze(1)) * self.alpha
        pull = group_sums(near, classes, self.n_classes, plus_one=True)
        far = cosine.add_(self.margin).mul_(self.alpha).scatter_(1, own, -torch.inf)
        # log(1 + sum exp) down the columns, its largest term taken out.
        top = far.amax(0).clamp_min_(0)
        terms = far.sub_(top).exp_()
        total = terms.sum(0).add_((-top).exp_())
        loss = pull.log.sum() / n_present + (total.log() + top).mean()
        slopes = terms.mul_(self.alpha / self.n_classes / total)
        return loss, slopes.scatter_(1, own, (pull.shares * (-self.alpha / n_present)).unsqueeze(1))
