"""Trunk and head joined into one model, with batch norm frozen as the protocol says."""

from typing import Literal

import torch
from torch import Tensor, nn

from fairground.contracts.mixing import Mixing
from fairground.contracts.model import Head, Trunk

FreezeBatchNorm = Literal["none", "stats", "stats_and_affine"]


class EmbeddingModel(nn.Module):
    """Images to raw embeddings. `freeze_batch_norm`: keep the statistics, or the affine weights too (erratum E41).

    The trunk's first `n_frozen` stages keep their weights and statistics.
    With `is_mixed` precision the network multiplies in bfloat16; embeddings, and with them loss and metrics, are
    float32 again.
    """

    def __init__(
        self,
        *,
        trunk: Trunk,
        head: Head,
        freeze_batch_norm: FreezeBatchNorm = "none",
        is_mixed: bool = False,
        n_frozen: int = 0,
    ) -> None:
        super().__init__()
        self.trunk = trunk
        self.head = head
        self.freeze_batch_norm = freeze_batch_norm
        self.is_mixed = is_mixed
        # On a processor a network whose channels lie innermost takes two thirds of the time.
        self.trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if freeze_batch_norm == "stats_and_affine":
            for norm in self._norms():
                norm.requires_grad_(False)
        self.trunk.n_frozen = n_frozen
        for stage in self._frozen():
            stage.requires_grad_(False).eval()

    def forward(self, images: Tensor, mixing: Mixing | None = None) -> Tensor:
        """Return embeddings (n, d); with `mixing`, samples are mixed before one stage of the trunk."""
        with self._precision(images.device):
            embeddings: Tensor = self.head(self.trunk(_channels_last(images), mixing))
        return embeddings.float() if self.is_mixed else embeddings

    def frozen_output(self, images: Tensor) -> Tensor:
        """Return what the frozen stages make of images, to be kept; without gradient."""
        with torch.no_grad(), self._precision(images.device):
            return self.trunk.frozen_output(_channels_last(images)).float()

    def train(self, mode: bool = True) -> "EmbeddingModel":
        """Switch to training; frozen batch norms stay as they are for evaluation."""
        super().train(mode)
        if mode and self.freeze_batch_norm != "none":
            for norm in self._norms():
                norm.eval()
        for stage in self._frozen():
            stage.eval()
        return self

    def _precision(self, device: torch.device) -> torch.autocast:
        return torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.is_mixed)

    def _frozen(self) -> list[nn.Module]:
        return [self.trunk.stages[number] for number in range(self.trunk.n_frozen)]

    def _norms(self) -> list[nn.Module]:
        kinds = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
        return [module for module in self.trunk.modules() if isinstance(module, kinds)]


def _channels_last(images: Tensor) -> Tensor:
    return images.contiguous(memory_format=torch.channels_last) if images.ndim == 4 else images
