"""relu(conv(x, w) + b + h) with one copy of its output: what ReLU passes on tells where its slope is one.

torch keeps what came into ReLU6 beside what goes out, and its convolutions sum the gradient of a bias in a slow way of
their own; here the output alone is kept, and the sum is torch's. The products are torch's own. A ReLU inside oneDNN's
convolution would be faster still, but it turns NaN into 0 and so hides that a training has diverged.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from fairground.kernels.depthwise import weight_gradient


class Geometry(NamedTuple):
    """How a convolution moves over an image, in the order of torch's own arguments."""

    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


def fused_convolution(
    x: Tensor, weight: Tensor, bias: Tensor, geometry: Geometry, *, ceiling: float | None, shortcut: Tensor | None
) -> Tensor:
    """Return min(max(conv(x, weight) + bias + shortcut, 0), ceiling); no limits where `ceiling` is None."""
    result: Tensor = _FusedConvolution.apply(x, weight, bias, shortcut, geometry, ceiling)  # type: ignore[no-untyped-call]
    return result


class _FusedConvolution(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        shortcut: Tensor | None,
        geometry: Geometry,
        ceiling: float | None,
    ) -> Tensor:
        out = torch.conv2d(x, weight, bias, *geometry)
        if shortcut is not None:
            out.add_(shortcut)
        if ceiling is not None:
            out.clamp_(0, ceiling)
        ctx.geometry, ctx.ceiling = geometry, ceiling
        ctx.save_for_backward(x, weight, None if ceiling is None else out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, out = ctx.saved_tensors
        needs_x, needs_weight, needs_bias, needs_shortcut, *_ = ctx.needs_input_grad
        gradient = gradients[0]
        if out is not None:
            gradient = torch.ops.aten.hardtanh_backward(gradient, out, 0.0, ctx.ceiling)
        by_x, by_weight = _by_inputs(gradient, x, weight, ctx.geometry, needs_x=needs_x, needs_weight=needs_weight)
        by_bias = gradient.sum((0, 2, 3)) if needs_bias else None
        return by_x, by_weight, by_bias, gradient if needs_shortcut else None, None, None


def _by_inputs(
    gradient: Tensor, x: Tensor, weight: Tensor, geometry: Geometry, *, needs_x: bool, needs_weight: bool
) -> tuple[Tensor | None, Tensor | None]:
    stride, padding, dilation, groups = geometry
    has_kernel = needs_weight and _is_wide_depthwise(x, weight, geometry) and not torch.is_grad_enabled()
    needs = [needs_x, needs_weight and not has_kernel, False]
    by_x, by_weight, _ = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, stride, padding, dilation, False, [0, 0], groups, needs
    )
    if has_kernel:
        by_weight = weight_gradient(x, gradient, size=weight.shape[2], stride=stride[0], padding=padding[0])
    return by_x, by_weight


def _is_wide_depthwise(x: Tensor, weight: Tensor, geometry: Geometry) -> bool:
    stride, padding, dilation, groups = geometry
    is_depthwise = groups == x.shape[1] == weight.shape[0]
    is_square = weight.shape[2] == weight.shape[3] > 3 and stride[0] == stride[1] and padding[0] == padding[1]
    return is_depthwise and is_square and dilation == (1, 1) and x.dtype == torch.float32
