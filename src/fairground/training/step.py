"""One batch: embed, mine, regularise, loss, backward, step; then the sampler sees the embeddings."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn, optim

from fairground.contracts.loss import Loss, Tuples
from fairground.contracts.miner import Miner
from fairground.contracts.model import Batch, Mixing
from fairground.contracts.regulariser import Regulariser
from fairground.errors import DivergedError
from fairground.training.gradient_cache import cached_backward
from fairground.training.model import EmbeddingModel
from fairground.training.optimiser import WeightAverage
from fairground.training.process_group import ALONE, ProcessGroup


class BatchStatistics:
    """The number of mined tuples of the current batch, and its loss before any penalty."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._n_tuples: int | None = None
        self._values: list[Tensor] = []

    def count(self, tuples: Tuples | None, value: Tensor) -> None:
        """Count mined tuples and keep the loss; nothing is read from the device yet."""
        if tuples is not None:
            self._n_tuples = (self._n_tuples or 0) + tuples.size
        self._values.append(value.detach())

    def is_idle(self) -> bool:
        """Whether there was nothing to learn from; ask after the step has read its loss from the device."""
        return self._n_tuples == 0 or (bool(self._values) and all(value.item() == 0 for value in self._values))


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """What a step needs besides the batch. `in_chunks` trains in the memory of one chunk of it, same gradient.

    `clip_norm` > 0 bounds the length of the gradient; `average` follows the weights.
    """

    model: EmbeddingModel
    loss: Loss
    miner: Miner | None
    regulariser: Regulariser | None
    optimiser: optim.Optimizer
    generator: torch.Generator
    in_chunks: bool = False
    clip_norm: float = 0.0
    average: WeightAverage | None = None
    group: ProcessGroup = ALONE
    tally: BatchStatistics = field(default_factory=BatchStatistics)

    def step(self, batch: Batch) -> tuple[float, Tensor]:
        self.optimiser.zero_grad(set_to_none=True)
        self.tally.reset()
        mixing = self._mixing(len(batch.labels))
        if self.in_chunks:
            value, own = cached_backward(
                self.model,
                batch.chunks,
                lambda found: self._objective(self.group.all_gather(found), batch.labels, None),
            )
            embeddings = self.group.all_gather(own)
        else:
            embeddings = self.group.forward(self.model, batch.images, mixing)
            value = self._objective(embeddings, batch.labels, mixing)
            torch.autograd.backward(value)
        number = self.group.reduce_gradients(value, self.model, self.loss)
        if not math.isfinite(number):
            raise DivergedError(_cause(embeddings.detach(), number))
        if self.clip_norm:
            weights = [weight for group in self.optimiser.param_groups for weight in group["params"]]
            nn.utils.clip_grad_norm_(weights, self.clip_norm)
        self.optimiser.step()
        if self.average is not None:
            self.average.update()
        return number, embeddings.detach()

    def _mixing(self, batch_size: int) -> Mixing | None:
        if self.regulariser is None:
            return None
        trunk = self.model.trunk
        n_stages = len(trunk.stages) - trunk.n_frozen
        return self.regulariser.plan_mixing(batch_size, n_stages, generator=self.generator)

    def _objective(self, embeddings: Tensor, labels: Tensor, mixing: Mixing | None) -> Tensor:
        if mixing is None:
            value = self._loss(embeddings, labels)
        else:
            own, partners = self._loss(embeddings, labels), self._loss(embeddings, labels[mixing.partner])
            value = mixing.weight * own + (1 - mixing.weight) * partners
        penalty = None if self.regulariser is None else self.regulariser.penalty(embeddings, labels, self.loss)
        return value if penalty is None else value + penalty

    def _loss(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        tuples = None if self.miner is None else self.miner(embeddings, labels, generator=self.generator)
        if tuples is not None and self.regulariser is not None:
            tuples = self.regulariser.change_tuples(tuples, labels, generator=self.generator)
        value: Tensor = self.loss(embeddings, labels, tuples, generator=self.generator)
        self.tally.count(tuples, value)
        return value


def _cause(embeddings: Tensor, number: float) -> str:
    """Say whether the network or the loss is the cause, because that decides the remedy."""
    if not bool(torch.isfinite(embeddings).all()):
        return f"the loss is {number}: the network's output is not finite; the learning rate is probably too high"
    largest = float(embeddings.norm(dim=1).max())
    return (
        f"the loss is {number} although the embeddings are finite (largest norm {largest:.3g}): "
        "a scale, margin or temperature of the loss is probably too extreme"
    )
