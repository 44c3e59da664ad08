"""One batch: embed, mine, regularise, loss, backward, step; then the sampler sees the embeddings."""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from fairground.contracts import Batch, Loss, Miner, Mixing, Regulariser
from fairground.errors import DivergedError, require
from fairground.training import ALONE, EmbeddingModel, ProcessGroup, WeightAverage


@dataclass(frozen=True, kw_only=True)
class Stepper:
    """What a step needs besides the batch. `in_chunks` trains in the memory of one chunk of it, same gradient.

    `clip_norm` > 0 bounds the length of the gradient; `average` follows the weights.
    """

    model: EmbeddingModel
    loss: Loss
    miner: Miner | None
    regulariser: Regulariser | None
    optimiser: torch.optim.Optimizer
    generator: torch.Generator
    in_chunks: bool = False
    clip_norm: float = 0.0
    average: WeightAverage | None = None
    group: ProcessGroup = ALONE
    #: of the current batch: how many tuples were mined, and the loss before any penalty, still on the device
    losses: list[tuple[int | None, torch.Tensor]] = field(default_factory=list)

    def step(self, batch: Batch) -> tuple[float, torch.Tensor]:
        self.optimiser.zero_grad(set_to_none=True)
        self.losses.clear()
        mixing = None
        if self.regulariser is not None:
            n_stages = len(self.model.trunk.stages) - self.model.trunk.n_frozen
            mixing = self.regulariser.plan_mixing(len(batch.labels), n_stages, generator=self.generator)
        if self.in_chunks:
            gather, labels = self.group.all_gather, batch.labels
            value, own = cached_backward(
                self.model, batch.chunks, lambda found: self._objective(gather(found), labels, None)
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
            torch.nn.utils.clip_grad_norm_(weights, self.clip_norm)
        self.optimiser.step()
        if self.average is not None:
            self.average.update()
        return number, embeddings.detach()

    def is_idle(self) -> bool:
        """Whether the last batch had nothing to learn from: no tuples, or a loss of exactly 0."""
        sizes = [size for size, _ in self.losses if size is not None]
        return (len(sizes) > 0 and sum(sizes) == 0) or all(value.item() == 0 for _, value in self.losses)

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
        self.losses.append((None if tuples is None else tuples.size, value.detach()))
        return value


def _cause(embeddings: torch.Tensor, number: float) -> str:
    """Say whether the network or the loss is the cause, because that decides the remedy."""
    if not bool(torch.isfinite(embeddings).all()):
        return f"the loss is {number}: the network's output is not finite; the learning rate is probably too high"
    finite = f"although the embeddings are finite (largest norm {float(embeddings.norm(dim=1).max()):.3g})"
    return f"the loss is {number} {finite}: a scale, margin or temperature of the loss is probably too extreme"


def cached_backward(
    model: torch.nn.Module, chunks: Collection[torch.Tensor], loss_of: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Add the gradient of `loss_of(model(images))` to every parameter; return the loss and embeddings, detached.

    This is the gradient of a large batch in the memory of a small one. A loss looks at embeddings, not at images. So
    the batch is embedded twice, a chunk at a time: once without a graph, to learn the loss and its gradient by every
    embedding; and once with a graph, to carry these gradients into the weights. Images that are made when asked for are
    made twice, and never more than a chunk or two of them are in memory. The result is that of one large batch exactly,
    whatever the loss or the miner, for a third more arithmetic. (Gao, Zhang, Han and Callan, "Scaling deep contrastive
    learning batch size under memory limited setup", RepL4NLP 2021.)

    The images come in `chunks`, which are run through twice and must be the same both times. `loss_of` takes all
    embeddings (n, d) at once and may mine, regularise and have parameters of its own. At most one chunk is in a graph
    at a time. Every chunk sees the same random numbers and buffers both times, and leaves buffers behind as if it had
    been seen once.
    """
    require_chunks_alone(model)
    if len(chunks) == 1:
        (images,) = chunks
        embeddings = model(images)
        loss = loss_of(embeddings)
        torch.autograd.backward(loss)
        return loss.detach(), embeddings.detach()
    before = {name: buffer.clone() for name, buffer in model.named_buffers()}
    states, parts = [], []
    with torch.no_grad():
        for piece in chunks:
            states.append(_random_state(piece.device))
            parts.append(model(piece))
    # Under autocast, older versions of torch would use the weights cast without a graph again below, without gradient.
    torch.clear_autocast_cache()
    embeddings, sizes = torch.cat(parts).requires_grad_(), [len(part) for part in parts]
    del parts
    loss = loss_of(embeddings)
    torch.autograd.backward(loss)
    if embeddings.grad is not None:
        with torch.no_grad():
            for name, buffer in model.named_buffers():
                buffer.copy_(before[name])
        after = _random_state(embeddings.device)
        for piece, state, gradient in zip(chunks, states, torch.split(embeddings.grad, sizes), strict=True):
            _set_random_state(piece.device, state)
            again = model(piece)
            if again.requires_grad:
                torch.autograd.backward(again, gradient)
        _set_random_state(embeddings.device, after)
    return loss.detach(), embeddings.detach()


def require_chunks_alone(model: torch.nn.Module) -> None:
    """Refuse a model whose embedding of one image depends on the others it is seen with."""
    for name, module in model.named_modules():
        require(
            not isinstance(module, _BatchNorm) or not (module.training or module.running_mean is None),
            f"a gradient-cached step needs batch norm frozen, for '{name}' would take its statistics from each chunk "
            "instead of the whole batch; set training.freeze_batch_norm=stats, or train without chunks",
        )


def _random_state(device: torch.device) -> list[torch.Tensor]:
    """Return the state of torch's own generators, that of the processor and that of the images' device."""
    states = [torch.get_rng_state()]
    if device.type != "cpu":
        states.append(torch.get_device_module(device).get_rng_state(*_which(device)))
    return states


def _set_random_state(device: torch.device, states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.get_device_module(device).set_rng_state(states[1], *_which(device))


def _which(device: torch.device) -> tuple[torch.device, ...]:
    # There is only one "mps", and its generator takes no argument to say so.
    return () if device.type == "mps" else (device,)
