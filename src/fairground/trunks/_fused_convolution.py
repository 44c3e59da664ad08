"""A convolution, the batch norm after it and ReLU as one pass over the image, where the norm's statistics are frozen.

Formula
    relu(g (conv(x, w) + c - mean) / sqrt(var + eps) + b + h)  =  relu(conv(x, w s) + b + (c - mean) s + h),
    s = g / sqrt(var + eps);  c is the convolution's bias and h a shortcut, where there are any

Weights are fewer than pixels, so w s costs little; a norm of its own reads and writes the whole image once
forward and twice backward. Weights, names and gradients of both modules stay what they are.
"""

from collections.abc import Iterable, Sequence
from math import inf
from types import NoneType
from typing import Any, TypeGuard

import torch


class Chain(torch.nn.Sequential):
    """Parts in order, as in `nn.Sequential`; a convolution with its frozen norm and ReLU is one of them."""

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        return run(self, hidden)


def pooled_blocks(channels: int, widths: Sequence[int]) -> list[Chain]:
    """Return blocks of convolution 3 x 3, batch norm, max pool and ReLU, of so many channels each."""
    blocks = []
    for before, after in zip([channels, *widths[:-1]], widths, strict=True):
        convolution = torch.nn.Conv2d(before, after, 3, padding=1, bias=False)
        pool, activation = torch.nn.MaxPool2d(2), torch.nn.ReLU(inplace=True)
        blocks.append(Chain(convolution, torch.nn.BatchNorm2d(after), pool, activation))
    return blocks


def run(parts: Iterable[torch.nn.Module], hidden: torch.Tensor, shortcut: torch.Tensor | None = None) -> torch.Tensor:
    """Return what parts in order make of `hidden`; a shortcut is added after the last, a batch norm."""
    left = list(parts)
    while left:
        part = left.pop(0)
        if isinstance(part, torch.nn.Conv2d) and left and isinstance(left[0], torch.nn.BatchNorm2d):
            norm = left.pop(0)
            activation = left.pop(0) if left and isinstance(left[0], torch.nn.ReLU | torch.nn.ReLU6) else None
            hidden = conv_norm(part, norm, hidden, activation, None if left else shortcut)
        else:
            hidden = part(hidden)
    return hidden


def conv_norm(
    convolution: torch.nn.Conv2d,
    norm: torch.nn.Module,
    hidden: torch.Tensor,
    activation: torch.nn.Module | None = None,
    shortcut: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return activation(norm(convolution(hidden)) + shortcut); `activation` is a ReLU or ReLU6."""
    if not is_frozen(norm):
        hidden = norm(convolution(hidden))
        hidden = hidden if shortcut is None else hidden + shortcut
        return hidden if activation is None else activation(hidden)
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    offset = norm.running_mean if convolution.bias is None else norm.running_mean - convolution.bias
    weight, bias = convolution.weight * scale.view(-1, 1, 1, 1), norm.bias - offset * scale
    assert not isinstance(convolution.padding, str)
    geometry = (convolution.stride, convolution.padding, convolution.dilation, convolution.groups)
    # Tracers, autocast and accelerators have their own ways to fuse.
    is_traced = torch.compiler.is_compiling() or torch.compiler.is_exporting()
    if hidden.device.type == "cpu" and not is_traced and not torch.is_autocast_enabled("cpu"):
        ceiling = {torch.nn.ReLU: inf, torch.nn.ReLU6: 6.0, NoneType: None}[type(activation)]
        return _FusedConvolution.apply(hidden, weight, bias, shortcut, geometry, ceiling)  # type: ignore[no-untyped-call]
    hidden = torch.nn.functional.conv2d(hidden, weight, bias, *geometry)
    hidden = hidden if shortcut is None else hidden + shortcut
    return hidden if activation is None else activation(hidden)


def is_frozen(norm: torch.nn.Module) -> TypeGuard[torch.nn.BatchNorm2d]:
    """Tell whether a batch norm does the same to every batch, so that it can be part of the convolution."""
    return (
        isinstance(norm, torch.nn.BatchNorm2d) and not norm.training and norm.affine and norm.running_mean is not None
    )


#: stride, padding, dilation and groups of a convolution
Geometry = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], int]


class _FusedConvolution(torch.autograd.Function):
    """min(max(conv(x, w) + b + h, 0), ceiling), without limits where `ceiling` is None, and one copy of its output.

    What ReLU passes on tells where its slope is one: torch keeps what came into ReLU6 as well, and sums the gradient of
    a bias slowly. The products are torch's own. A ReLU inside oneDNN's convolution would be faster still, but it turns
    NaN into 0 and so hides that a training has diverged.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        shortcut: torch.Tensor | None,
        geometry: Geometry,
        ceiling: float | None,
    ) -> torch.Tensor:
        out = torch.conv2d(x, weight, bias, *geometry)
        if shortcut is not None:
            out.add_(shortcut)
        if ceiling is not None:
            out.clamp_(0, ceiling)
        ctx.geometry, ctx.ceiling = geometry, ceiling
        ctx.save_for_backward(x, weight, None if ceiling is None else out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight, out = ctx.saved_tensors
        needs_x, needs_weight, needs_bias, needs_shortcut, *_ = ctx.needs_input_grad
        gradient = gradients[0]
        if out is not None:
            gradient = torch.ops.aten.hardtanh_backward(gradient, out, 0.0, ctx.ceiling)
        stride, padding, dilation, groups = ctx.geometry
        needs = [needs_x, needs_weight, False]
        by_x, by_weight, _ = torch.ops.aten.convolution_backward(
            gradient, x, weight, None, stride, padding, dilation, False, [0, 0], groups, needs
        )
        by_bias = gradient.sum((0, 2, 3)) if needs_bias else None
        return by_x, by_weight, by_bias, gradient if needs_shortcut else None, None, None
