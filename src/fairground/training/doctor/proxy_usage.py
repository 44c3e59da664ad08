"""Which class vectors of a loss take part in training: counted at looks, judged at the end of an epoch."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn, optim

from fairground.functional.distances import normalize

#: a class is judged when at least so many of its images were seen
LEAST_SEEN = 8


class ProxyUsage(NamedTuple):
    """`n_lost` of `n_judged` classes have vectors no nearer to their own images than to others.

    `n_untouched` of all `n_proxies` vectors never had a gradient.
    """

    n_proxies: int
    n_judged: int
    n_lost: int
    n_untouched: int


class ProxyUsageCounter:
    """The class vectors (C, d) or (C, K, d) of a loss, and how near each class is to its own images and to all.

    Sums stay on the device; those of a class begin anew once it was judged, so that rare classes are judged too.
    """

    def __init__(self, proxies: nn.Parameter, optimiser: optim.Optimizer, *, is_decayed: bool) -> None:
        self.proxies = proxies
        self._optimiser = optimiser
        self._is_decayed = is_decayed
        #: by class: images of it seen, cosines with them, cosines with all images seen, and how many those are
        self._sums = torch.zeros(4, len(proxies), dtype=torch.float64, device=proxies.device)

    @torch.no_grad()
    def count(self, embeddings: Tensor, labels: Tensor) -> None:
        """Take one batch."""
        vectors = self.proxies.to(embeddings.dtype)
        cosine = normalize(embeddings) @ normalize(vectors.flatten(0, -2)).T
        nearest = cosine if vectors.ndim == 2 else cosine.view(len(cosine), len(vectors), -1).amax(2)
        seen, own, everyone, n_images = self._sums
        seen.scatter_add_(0, labels, torch.ones_like(labels, dtype=torch.float64))
        own.scatter_add_(0, labels, nearest.gather(1, labels.unsqueeze(1)).squeeze(1).double())
        everyone += nearest.sum(0)
        n_images += len(labels)

    @torch.no_grad()
    def judge(self) -> ProxyUsage:
        """Return the verdict on the classes seen often enough, and begin to count these anew."""
        seen, own, everyone, n_images = self._sums
        is_judged = (seen >= LEAST_SEEN) & (n_images > seen)
        is_lost = is_judged & (own / seen.clamp_min(1) <= (everyone - own) / (n_images - seen).clamp_min(1))
        n_proxies = self.proxies.numel() // self.proxies.shape[-1]
        verdict = ProxyUsage(n_proxies, int(is_judged.sum()), int(is_lost.sum()), self._untouched())
        self._sums.masked_fill_(is_judged, 0)
        return verdict

    def state(self) -> dict[str, Tensor]:
        """Return the sums, for a checkpoint."""
        return {"sums": self._sums}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take back what `state` gave."""
        self._sums.copy_(state["sums"])

    def _untouched(self) -> int:
        """Count rows whose squared gradients or momentum are exactly 0: weight decay alone would have left a trace."""
        memory = self._optimiser.state.get(self.proxies, {})
        names = ("exp_avg_sq", "square_avg", "momentum_buffer")
        trace = next((memory[name] for name in names if isinstance(memory.get(name), Tensor)), None)
        if trace is None or self._is_decayed:
            return 0
        return int((trace == 0).all(-1).sum())


def class_vectors_of(loss: nn.Module, *, n_classes: int, embedding_dim: int) -> nn.Parameter | None:
    """Return the first learnable tensor with one vector, or several, for each class; None where there is none."""
    for weight in loss.parameters():
        if weight.ndim in (2, 3) and weight.shape[0] == n_classes and weight.shape[-1] == embedding_dim:
            return weight
    return None
