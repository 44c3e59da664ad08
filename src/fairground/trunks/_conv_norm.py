"""A convolution, the batch norm after it and ReLU as one pass over the image, where the norm's statistics are frozen.

Formula
    relu(g (conv(x, w) + c - mean) / sqrt(var + eps) + b + h)  =  relu(conv(x, w s) + b + (c - mean) s + h),
    s = g / sqrt(var + eps);  c is the convolution's bias and h a shortcut, where there are any

Weights are fewer than pixels, so w s costs little; a norm of its own reads and writes the whole image once
forward and twice backward. Weights, names and gradients of both modules stay what they are.
"""

from collections.abc import Iterable
from math import inf
from types import NoneType
from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from fairground.trunks._fused_convolution import Geometry, fused_convolution


class Chain(nn.Sequential):
    """Parts in order, as in `nn.Sequential`; a convolution with its frozen norm and ReLU is one of them."""

    def forward(self, hidden: Tensor) -> Tensor:
        return run(self, hidden)


def run(parts: Iterable[nn.Module], hidden: Tensor, shortcut: Tensor | None = None) -> Tensor:
    """Return what parts in order make of `hidden`; a shortcut is added after the last, a batch norm."""
    left = list(parts)
    while left:
        part = left.pop(0)
        if isinstance(part, nn.Conv2d) and left and isinstance(left[0], _BatchNorm):
            norm = left.pop(0)
            activation = left.pop(0) if left and isinstance(left[0], nn.ReLU | nn.ReLU6) else None
            hidden = conv_norm(part, norm, hidden, activation, None if left else shortcut)
        else:
            hidden = part(hidden)
    return hidden


def conv_norm(
    convolution: nn.Conv2d,
    norm: nn.Module,
    hidden: Tensor,
    activation: nn.Module | None = None,
    shortcut: Tensor | None = None,
) -> Tensor:
    """Return activation(norm(convolution(hidden)) + shortcut); `activation` is a ReLU or ReLU6."""
    if not is_frozen(norm):
        hidden = norm(convolution(hidden))
        hidden = hidden if shortcut is None else hidden + shortcut
        return hidden if activation is None else activation(hidden)
    weight, bias = _folded(convolution, norm)
    assert not isinstance(convolution.padding, str)
    geometry = Geometry(convolution.stride, convolution.padding, convolution.dilation, convolution.groups)
    if _is_on_processor(hidden):
        ceiling = {nn.ReLU: inf, nn.ReLU6: 6.0, NoneType: None}[type(activation)]
        return fused_convolution(hidden, weight, bias, geometry, ceiling=ceiling, shortcut=shortcut)
    hidden = functional.conv2d(hidden, weight, bias, *geometry)
    hidden = hidden if shortcut is None else hidden + shortcut
    return hidden if activation is None else activation(hidden)


def _folded(convolution: nn.Conv2d, norm: _BatchNorm) -> tuple[Tensor, Tensor]:
    """Return w s and b + (c - mean) s."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    scale = norm.weight * torch.rsqrt(norm.running_var + norm.eps)
    offset = norm.running_mean if convolution.bias is None else norm.running_mean - convolution.bias
    return convolution.weight * scale.view(-1, 1, 1, 1), norm.bias - offset * scale


def is_frozen(norm: nn.Module) -> TypeGuard[_BatchNorm]:
    """Tell whether a batch norm does the same to every batch, so that it can be part of the convolution."""
    return isinstance(norm, _BatchNorm) and not norm.training and norm.affine and norm.running_mean is not None


def _is_on_processor(hidden: Tensor) -> bool:
    """Tell whether the fused pass applies; tracers, autocast and accelerators have their own ways to fuse."""
    is_traced = torch.compiler.is_compiling() or torch.compiler.is_exporting()
    return hidden.device.type == "cpu" and not is_traced and not torch.is_autocast_enabled("cpu")
