"""Whether a loss is computed by its kernel or by its formula.

The kernel is taken where a first derivative is all that can be asked for, and the formula elsewhere: on accelerators,
under `torch.compile`, under `torch.func`, and for second derivatives.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

if TYPE_CHECKING:
    from fairground.contracts.loss import Loss, Tuples


class LossInputs(NamedTuple):
    """What a kernel is given: checked `embeddings` (n, d) in float32 or float64, `labels` (n,) in int64."""

    embeddings: Tensor
    labels: Tensor
    tuples: "Tuples | None" = None
    generator: Generator | None = None


class KernelResult(NamedTuple):
    """A loss, its gradient (n, d) by the embeddings, and those by `Loss.parameters()`, in their order."""

    value: Tensor
    gradient: Tensor
    parameter_gradients: tuple[Tensor, ...] = ()


def by_kernel_or_formula(
    loss: "Loss", embeddings: Tensor, labels: Tensor, tuples: "Tuples | None", generator: Generator | None
) -> Tensor:
    """Return the loss by the kernel where it may be used and there is one for these settings, by the formula if not."""
    # Half precision cannot hold squared distances or exponentials: the arithmetic of a loss is float32 at least.
    wide = embeddings.float() if embeddings.dtype in (torch.float16, torch.bfloat16) else embeddings
    with _without_autocast(wide):
        if not is_eager() or not wide.is_cpu or labels.ndim == 2:
            return loss.formula(wide, labels, tuples, generator=generator)
        replay = _copy(generator) if loss.is_random else None
        with torch.no_grad():
            result = loss.kernel(LossInputs(wide, labels, tuples, generator))
        if result is None:
            return loss.formula(wide, labels, tuples, generator=generator)
        parameters = dict(loss.named_parameters("loss")) if loss.is_learnable else {}

        def formula(embeddings: Tensor, *values: Tensor) -> Tensor:
            given = dict(zip(parameters, values, strict=True))
            inputs = (embeddings, labels, tuples, None if replay is None else _copy(replay))
            with _without_autocast(embeddings):
                return torch.func.functional_call(_Formula(loss), given, inputs)

        return _kernel_step(result, formula, wide, *parameters.values())


class _Formula(nn.Module):
    """A loss as a module that calls its formula, so that other tensors can stand in for its parameters."""

    def __init__(self, loss: "Loss") -> None:
        super().__init__()
        self.loss = loss

    def forward(
        self, embeddings: Tensor, labels: Tensor, tuples: "Tuples | None", generator: Generator | None
    ) -> Tensor:
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
    return not torch.compiler.is_compiling() and not is_transformed()


def is_transformed() -> bool:
    """Whether this runs inside a transform of torch.func."""
    # torch has no public name for this; autograd.Function itself asks so.
    return bool(torch._C._are_functorch_transforms_active())


def _without_autocast(tensor: Tensor) -> AbstractContextManager[object]:
    kind = tensor.device.type
    return torch.autocast(device_type=kind, enabled=False) if torch.is_autocast_enabled(kind) else nullcontext()


def _copy(generator: Generator | None) -> Generator:
    """Return a generator that will draw what this one, or torch's default one, is about to draw."""
    source = torch.default_generator if generator is None else generator
    return Generator(source.device).set_state(source.get_state())
