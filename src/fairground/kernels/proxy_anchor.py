"""Proxy-Anchor; equals `losses.proxy_anchor.ProxyAnchorLoss.formula`."""

import torch
from torch import Tensor

from fairground.contracts.loss import KernelResult
from fairground.kernels.cosines import kernel_of_cosines
from fairground.kernels.log_sums import group_sums


def value_and_gradient(
    embeddings: Tensor, proxies: Tensor, labels: Tensor, *, alpha: float, margin: float
) -> KernelResult:
    """Return the pull of the proxies present plus the push of all proxies."""
    n_classes, own = len(proxies), labels.unsqueeze(1)
    n_present = int(torch.bincount(labels).count_nonzero())

    def rule(cosine: Tensor) -> tuple[Tensor, Tensor]:
        near = (margin - cosine.gather(1, own).squeeze(1)) * alpha
        pull = group_sums(near, labels, n_classes, plus_one=True)
        far = cosine.add_(margin).mul_(alpha).scatter_(1, own, -torch.inf)
        # log(1 + sum exp) down the columns, its largest term taken out.
        top = far.amax(0).clamp_min_(0)
        terms = far.sub_(top).exp_()
        total = terms.sum(0).add_((-top).exp_())
        value = pull.log.sum() / n_present + (total.log() + top).mean()
        slopes = terms.mul_(alpha / n_classes / total)
        return value, slopes.scatter_(1, own, pull.shares.mul_(-alpha / n_present).unsqueeze(1))

    return kernel_of_cosines(embeddings, proxies, rule)
