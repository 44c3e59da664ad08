"""Trunk and head as one model, with the batch norms and stages frozen that the spec names; what it takes and where."""

from dataclasses import dataclass
from typing import Literal

import torch

from fairground.contracts import Head, Mixing, Preprocessing, Trunk, require
from fairground.training.device import half_of

FreezeBatchNorm = Literal["none", "stats", "stats_and_affine"]
BATCH_NORMS = (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm)


class EmbeddingModel(torch.nn.Module):
    """Images to raw embeddings. `freeze_batch_norm`: keep the statistics, or the affine weights too (erratum E41).

    The trunk's first `n_frozen` stages keep their weights and statistics.
    With a `precision` of bf16, fp16 or auto the network multiplies in numbers of two bytes where the device has them;
    embeddings, and with them loss and metrics, are float32 again.
    """

    def __init__(
        self,
        *,
        trunk: Trunk,
        head: Head,
        freeze_batch_norm: FreezeBatchNorm = "none",
        precision: str = "full",
        n_frozen: int = 0,
    ) -> None:
        super().__init__()
        self.trunk, self.head = trunk, head
        self.freeze_batch_norm, self.precision = freeze_batch_norm, precision
        # On a CPU a network takes two thirds of the time with channels last in memory.
        self.trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if freeze_batch_norm == "stats_and_affine":
            for norm in self._norms():
                norm.requires_grad_(False)
        self.trunk.n_frozen = n_frozen
        for stage in self._frozen():
            stage.requires_grad_(False).eval()

    def forward(self, images: torch.Tensor, mixing: Mixing | None = None) -> torch.Tensor:
        """Return embeddings (n, d); with `mixing`, samples are mixed before one stage of the trunk."""
        with self._autocast(images.device):
            embeddings: torch.Tensor = self.head(self.trunk(_channels_last(images), mixing))
        return embeddings if self.precision == "full" else embeddings.float()

    def frozen_output(self, images: torch.Tensor) -> torch.Tensor:
        """Return what the frozen stages make of images, to be kept; without gradient."""
        with torch.no_grad(), self._autocast(images.device):
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

    def _autocast(self, device: torch.device) -> torch.autocast:
        half = half_of(self.precision, device)
        return torch.autocast(device.type, dtype=half or torch.bfloat16, enabled=half is not None)

    def _frozen(self) -> list[torch.nn.Module]:
        return [self.trunk.stages[number] for number in range(self.trunk.n_frozen)]

    def _norms(self) -> list[torch.nn.Module]:
        return [module for module in self.trunk.modules() if isinstance(module, BATCH_NORMS)]


def _channels_last(images: torch.Tensor) -> torch.Tensor:
    return images.contiguous(memory_format=torch.channels_last) if images.ndim == 4 else images


@dataclass(frozen=True, kw_only=True)
class InputProfile:
    """What a run's network takes, for use where the training data is gone.

    `size` is the height and width of the images, where all have one; `classes` are those trained on.
    """

    is_picture: bool
    channels: int
    size: tuple[int, int] | None
    classes: tuple[str, ...]
    embedding_dim: int
    is_normalised: bool
    preprocessing: Preprocessing
    data_fingerprint: str
    split_fingerprint: str


def n_frozen_stages(trainable: str, trunk: Trunk, name: str) -> int:
    """Return how many stages, from the first, do not train: none, all but the last few, or all but the head."""
    if trainable == "all":
        return 0
    n_stages = len(trunk.stages)
    advice = "set training.trainable=all"
    require(len(list(trunk.parameters())) > 0, f"trunk {name} has no weights, so none can be frozen; {advice}")
    in_order = f"trunk {name} does not run its stages one after another, so they cannot be frozen one by one; {advice}"
    require(type(trunk).forward is Trunk.forward, in_order)
    if trainable == "head":
        return n_stages
    n_trained = int(trainable.removeprefix("last:"))
    choices = "all or head" if n_stages == 1 else f"all, head, or last:1 to last:{n_stages - 1}"
    stages = "1 stage" if n_stages == 1 else f"{n_stages} stages"
    refusal = f"trunk {name} has {stages}, so training.trainable must be {choices}; got {trainable}"
    require(n_trained < n_stages, refusal)
    return n_stages - n_trained
