"""What every loss is: embeddings and labels in, one differentiable number out; and the tuples a miner may hand it.

A loss is its *formula*, in plain torch. It may have a *kernel*: the same number together with its gradient, fast on a
processor. `forward` takes the kernel where a first derivative is all that can be asked for, and the formula elsewhere:
on accelerators, under `torch.compile`, under `torch.func`, and for second derivatives.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Generator, Tensor, nn

from fairground.contracts.choices import ChecksChoices
from fairground.errors import require
from fairground.spec.search_ranges import Integer, LogReal, Range, Real

#: what the files of these parts need beside what is defined here
__all__ = ["Integer", "LogReal", "Loss", "Range", "Real", "require"]


class Triplets(NamedTuple):
    """Three index vectors of one length: sample `anchor[t]` belongs with `positive[t]` and not with `negative[t]`."""

    anchor: Tensor
    positive: Tensor
    negative: Tensor

    @property
    def size(self) -> int:
        return int(self.anchor.numel())


class Pairs(NamedTuple):
    """Ordered pairs: `positive_anchor[t]` goes with `positive[t]`; `negative_anchor[t]` does not with `negative[t]`."""

    positive_anchor: Tensor
    positive: Tensor
    negative_anchor: Tensor
    negative: Tensor

    @property
    def size(self) -> int:
        return int(self.positive_anchor.numel() + self.negative_anchor.numel())


Tuples = Triplets | Pairs


def as_pairs(tuples: Tuples) -> Pairs:
    """Return the positive and the negative pair of every triplet, repeats kept; pairs pass through."""
    if isinstance(tuples, Pairs):
        return tuples
    return Pairs(tuples.anchor, tuples.positive, tuples.anchor, tuples.negative)


class LossInputs(NamedTuple):
    """What a kernel is given: checked `embeddings` (n, d) in float32 or float64, `labels` (n,) in int64."""

    embeddings: Tensor
    labels: Tensor
    tuples: Tuples | None = None
    generator: Generator | None = None


class KernelResult(NamedTuple):
    """A loss, its gradient (n, d) by the embeddings, and those by `Loss.parameters()`, in their order."""

    value: Tensor
    gradient: Tensor
    parameter_gradients: tuple[Tensor, ...] = ()


class Loss(ChecksChoices, nn.Module, ABC):
    """A training objective over one batch.

    `accepts` names the kinds of tuples a miner may hand over (`Triplets`, `Pairs`); empty means the loss looks at
    the whole batch by itself. `tunable` gives the search range of each setting worth searching. `on_sphere` tells
    whether the loss compares unit vectors, and so how its embeddings should be evaluated; a loss with a switch for that
    sets it when constructed. `is_learnable` tells whether it has weights of its own, `is_random` whether it draws.

    Facts a loss cannot know (`n_classes`, `embedding_dim`) are constructor arguments of those names; `assemble`
    supplies them. A loss with weights for each class sets `n_classes`: its labels are 0..n_classes-1, and others are
    refused where looking at them costs nothing, which is in main memory. Elsewhere any integers are labels.
    """

    accepts: tuple[type, ...] = ()
    tunable: ClassVar[Mapping[str, Range]] = {}
    is_learnable: ClassVar[bool] = False
    is_random: bool = False
    on_sphere: bool = True
    n_classes: int | None = None

    def forward(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None = None, *, generator: Generator | None = None
    ) -> Tensor:
        """Return the loss of raw `embeddings` (n, d) with integer `labels` (n,), over `tuples` or all there are."""
        require_batch(self, embeddings, labels)
        if tuples is not None and not isinstance(tuples, self.accepts):
            kinds = " or ".join(kind.__name__ for kind in self.accepts) or "no tuples"
            require(False, f"{type(self).__name__} takes {kinds} from a miner; got {type(tuples).__name__}")
        # Half precision cannot hold squared distances or exponentials: the arithmetic of a loss is float32 at least.
        wide = embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings
        labels = labels.long()
        if not is_eager() or not wide.is_cpu:
            with _without_autocast(wide):
                return self.formula(wide, labels, tuples, generator=generator)
        if self.n_classes is not None and labels.is_cpu and len(labels):
            low, high = (int(label) for label in labels.aminmax())
            if low < 0 or high >= self.n_classes:
                name = type(self).__module__.rpartition(".")[2]
                known = f"the labels 0 to {self.n_classes - 1}, one for each of its {self.n_classes} classes"
                require(False, f"{name} knows {known}; got {low if low < 0 else high}")
        with _without_autocast(wide):
            return self._eager(wide, labels, tuples, generator)

    @abstractmethod
    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: Generator | None
    ) -> Tensor:
        """Return the loss in plain torch, twice differentiable, without a look at any value of a tensor.

        Inputs have been checked; embeddings are float32 or float64, labels int64. A batch without a positive or without
        a negative costs 0 where the loss compares pairs.
        """

    def kernel(self, inputs: LossInputs) -> KernelResult | None:
        """Return what `formula` does and its gradients, in main memory and without autograd; None to leave it to it."""
        return None

    def known_bugs(self) -> tuple[str, ...]:
        """Return a sentence for every switch in use that reproduces a known bug of published code."""
        return ()

    def _eager(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        """Return the loss by the kernel if there is one for these settings, by the formula if not."""
        replay = _copy(generator) if self.is_random else None
        with torch.no_grad():
            result = self.kernel(LossInputs(embeddings, labels, tuples, generator))
        if result is None:
            return self.formula(embeddings, labels, tuples, generator=generator)
        parameters = dict(self.named_parameters("loss")) if self.is_learnable else {}

        def formula(embeddings: Tensor, *values: Tensor) -> Tensor:
            given = dict(zip(parameters, values, strict=True))
            inputs = (embeddings, labels, tuples, None if replay is None else _copy(replay))
            with _without_autocast(embeddings):
                return torch.func.functional_call(_Formula(self), given, inputs)  # type: ignore[no-any-return]

        return _kernel_step(result, formula, embeddings, *parameters.values())


def require_batch(part: object, embeddings: Tensor, labels: Tensor) -> None:
    """Refuse, in the name of a loss or a miner, what is not a batch."""
    # A sentence is made only where it is needed: a loss is called in every step.
    if embeddings.ndim != 2 or labels.shape != embeddings.shape[:1] or labels.is_floating_point():
        name, n = type(part).__name__, len(embeddings)
        require(embeddings.ndim == 2, f"{name} takes embeddings of shape (n, d); got {tuple(embeddings.shape)}")
        require(not labels.is_floating_point(), f"{name} takes integer labels; got {labels.dtype}")
        require(False, f"{name} takes one label per embedding; got {tuple(labels.shape)} labels for {n} embeddings")


class _Formula(nn.Module):
    """A loss as a module that calls its formula, so that other tensors can stand in for its parameters."""

    def __init__(self, loss: Loss) -> None:
        super().__init__()
        self.loss = loss

    def forward(self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, generator: Generator | None) -> Tensor:
        return self.loss.formula(embeddings, labels, tuples, generator=generator)


class _KernelStep(torch.autograd.Function):
    """One step of autograd around a kernel's result; differentiated twice, it is a step around the formula."""

    @staticmethod
    def forward(ctx: Any, result: KernelResult, formula: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
        ctx.result, ctx.formula = result, formula
        ctx.save_for_backward(*inputs)
        return result.value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        wanted = ctx.needs_input_grad[2:]
        if not torch.is_grad_enabled():
            gradients = (ctx.result.gradient, *ctx.result.parameter_gradients)
            pairs = zip(gradients, wanted, strict=True)
            return None, None, *(gradient * upstream if is_wanted else None for gradient, is_wanted in pairs)
        inputs = ctx.saved_tensors
        chosen = [tensor for tensor, is_wanted in zip(inputs, wanted, strict=True) if is_wanted]
        value = ctx.formula(*inputs)
        found = iter(torch.autograd.grad(value, chosen, upstream, create_graph=True, materialize_grads=True))
        return None, None, *(next(found) if is_wanted else None for is_wanted in wanted)


# `apply` has no types of its own.
_kernel_step: Callable[..., Tensor] = _KernelStep.apply


def is_eager() -> bool:
    """Whether operations run at once on plain tensors, neither traced nor transformed."""
    # torch has no public name for "inside a transform of torch.func"; autograd.Function itself asks this.
    return not torch.compiler.is_compiling() and not torch._C._are_functorch_transforms_active()


def _without_autocast(tensor: Tensor) -> AbstractContextManager[object]:
    kind = tensor.device.type
    return torch.autocast(device_type=kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def _copy(generator: Generator | None) -> Generator:
    """Return a generator that will draw what this one, or torch's default one, is about to draw."""
    source = torch.default_generator if generator is None else generator
    return Generator(source.device).set_state(source.get_state())
