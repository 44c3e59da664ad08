"""One batch: embed, mine, regularise, loss, backward, step; then the sampler sees the embeddings."""

import math
from dataclasses import dataclass, field

import torch

from fairground import contracts, training
from fairground.contracts import Batch, DivergedError, Loss, Miner, Mixing
from fairground.training import ALONE, EmbeddingModel, ProcessGroup, cached_backward


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """What a step needs besides the batch. `in_chunks` trains in the memory of one chunk of it, same gradient.

    `clip_norm` > 0 bounds the length of the gradient; `average` follows the weights.
    """

    model: EmbeddingModel
    loss: Loss
    miner: Miner | None
    regulariser: "contracts.Regulariser | None"
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    in_chunks: bool = False
    clip_norm: float = 0.0
    average: "training.WeightAverage | None" = None
    #: what keeps small gradients apart from 0 in float16; it does nothing for other numbers
    scaler: torch.amp.GradScaler = field(default_factory=lambda: torch.amp.GradScaler(enabled=False))
    group: ProcessGroup = ALONE
    #: of the current batch: how many tuples were mined, and the loss before any penalty
    sizes: list[int | None] = field(default_factory=list)
    losses: list[torch.Tensor] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def step(self, batch: Batch) -> tuple[float, torch.Tensor]:
        self.optimiser.zero_grad(set_to_none=True)
        self.sizes.clear()
        self.losses.clear()
        mixing = None
        if self.regulariser is not None:
            n_stages = len(self.model.trunk.stages) - self.model.trunk.n_frozen
            mixing = self.regulariser.plan_mixing(len(batch.labels), n_stages, generator=self.generator)
        if self.in_chunks:
            gather, labels = self.group.all_gather, batch.labels
            value, own = cached_backward(
                self.model, batch.chunks, lambda found: self._objective(gather(found), labels, None), self.scaler.scale
            )
            embeddings = self.group.all_gather(own)
        else:
            embeddings = self.group.forward(self.model, batch.images, mixing)
            value = self._objective(embeddings, batch.labels, mixing)
            torch.autograd.backward(self.scaler.scale(value))
        agreed = self.group.reduce_gradients(value, self.model, self.loss)
        # All that is asked of the device after a step, in one answer: it is waited for.
        number, *self.values[:] = torch.stack([agreed, *self.losses]).tolist()
        if not math.isfinite(number):
            raise DivergedError(training.divergence_cause(embeddings.detach(), number))
        if self.clip_norm:
            self.scaler.unscale_(self.optimiser)
            weights = [weight for group in self.optimiser.param_groups for weight in group["params"]]
            torch.nn.utils.clip_grad_norm_(weights, self.clip_norm)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        if self.average is not None:
            self.average.update()
        return number, embeddings.detach()[:, : self.model.head.embedding_dim]

    def is_idle(self) -> bool:
        """Whether the last batch had nothing to learn from: no tuples, or a loss of exactly 0."""
        sizes = [size for size in self.sizes if size is not None]
        return (len(sizes) > 0 and sum(sizes) == 0) or all(value == 0 for value in self.values)

    def _objective(self, embeddings: torch.Tensor, labels: torch.Tensor, mixing: Mixing | None) -> torch.Tensor:
        if mixing is None:
            value = self._loss(embeddings, labels)
        else:
            own, partners = self._loss(embeddings, labels), self._loss(embeddings, labels[mixing.partner])
            value = mixing.weight * own + (1 - mixing.weight) * partners
        penalty = None if self.regulariser is None else self.regulariser.penalty(embeddings, labels, self.loss)
        return value if penalty is None else value + penalty

    def _loss(self, embeddings: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        tuples = None if self.miner is None else self.miner(embeddings, labels, generator=self.generator)
        if tuples is not None and self.regulariser is not None:
            tuples = self.regulariser.change_tuples(tuples, labels, generator=self.generator)
        value: torch.Tensor = self.loss(embeddings, labels, tuples, generator=self.generator)
        self.sizes.append(None if tuples is None else tuples.size)
        self.losses.append(value.detach())
        return value
