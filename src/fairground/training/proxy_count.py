"""Which class vectors of a loss take part in training: counted at looks, judged at the end of an epoch."""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn, optim

from fairground.geometry.distances import unit

#: a class is judged when at least so many of its images were seen
LEAST_SEEN = 8


class Verdict(NamedTuple):
    """`n_lost` of `n_judged` classes are near no image; `n_untouched` of `n_proxies` rows never had a gradient."""

    n_proxies: int
    n_judged: int
    n_lost: int
    n_untouched: int


class ProxyCount:
    """The class vectors (C, d) or (C, K, d) of a loss, and for each class how often it was seen and how often nearest.

    Counts stay on the device; they begin anew with every epoch.
    """

    def __init__(self, proxies: nn.Parameter, optimiser: optim.Optimizer, *, is_decayed: bool) -> None:
        self.proxies = proxies
        self._optimiser = optimiser
        self._is_decayed = is_decayed
        self._seen = torch.zeros(len(proxies), dtype=torch.int64, device=proxies.device)
        self._nearest = torch.zeros_like(self._seen)

    @torch.no_grad()
    def count(self, embeddings: Tensor, labels: Tensor) -> None:
        """Take one batch."""
        vectors = self.proxies.detach().to(embeddings.dtype)
        flat = unit(vectors.reshape(-1, vectors.shape[-1]))
        found = (embeddings @ flat.T).argmax(1) // (len(flat) // len(vectors))
        one = torch.ones_like(found)
        self._seen.scatter_add_(0, labels.to(found), one)
        self._nearest.scatter_add_(0, found, one)

    @torch.no_grad()
    def judge(self) -> Verdict:
        """Return the verdict of this epoch and begin to count anew."""
        is_judged = self._seen >= LEAST_SEEN
        n_lost = int((is_judged & (self._nearest == 0)).sum())
        verdict = Verdict(
            self.proxies.numel() // self.proxies.shape[-1], int(is_judged.sum()), n_lost, self._untouched()
        )
        self._seen.zero_()
        self._nearest.zero_()
        return verdict

    def state(self) -> dict[str, Tensor]:
        """Return the counts, for a checkpoint."""
        return {"seen": self._seen, "nearest": self._nearest}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take back what `state` gave."""
        self._seen.copy_(state["seen"])
        self._nearest.copy_(state["nearest"])

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
