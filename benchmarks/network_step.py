"""One step of a network: ours, that of the loop as people write it, and its gradient in float64."""

import os
import time
from contextlib import AbstractContextManager
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn

from fairground.commands.memory_allocator import keep_memory
from fairground.contracts.trunk_head_transform import Trunk
from fairground.heads.linear import LinearHead
from fairground.spec.run_spec import ComponentSpec
from fairground.training.assemble import build
from fairground.training.embedding_model import EmbeddingModel
from fairground.trunks import _fused_convolution

STEPS = int(os.environ.get("FAIRGROUND_BENCH_STEPS", "3"))


def own_step(name: str, size: int, side: int, channels: int) -> tuple[float, np.ndarray]:
    """Return the seconds of our step and the gradient of all weights."""
    keep_memory()
    model = _model(name, channels).train()
    return _measure(model, _images(size, side, channels))


def plain_step(name: str, size: int, side: int, channels: int) -> tuple[float, np.ndarray]:
    """Return the same of the loop as people write it."""
    with norms_apart():
        return _measure(plain_network(name, channels), _images(size, side, channels))


def exact_step(name: str, size: int, side: int, channels: int) -> tuple[int, np.ndarray]:
    """Return the operations of a step, and its gradient in float64, a few images at a time."""
    network = plain_network(name, channels)
    images = _images(size, side, channels)
    with norms_apart():
        operations = step_operations(network, images[:1]) * size
        network.double()
        for piece in torch.split(images.double(), 4):
            (network(piece).square().mean() * len(piece) / size).backward()
    return operations, _gradient(network)


def plain_network(name: str, channels: int) -> nn.Module:
    """Return trunk and head as people write them: channels first, ReLU before the maximum."""
    ours = _model(name, channels)
    trunk = ours.trunk.to(memory_format=torch.contiguous_format)  # type: ignore[call-overload]
    for stage in trunk.stages:
        _put_relu_first(stage)
    for module in trunk.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()
    return nn.Sequential(trunk, ours.head)


def norms_apart() -> AbstractContextManager[object]:
    """Keep batch norm out of the convolutions while the block lasts."""
    return mock.patch.object(_fused_convolution, "is_frozen", return_value=False)


def _put_relu_first(stage: nn.Module) -> None:
    parts = list(stage.children())
    kinds = [type(part) for part in parts[-2:]]
    if isinstance(stage, nn.Sequential) and kinds == [nn.MaxPool2d, nn.ReLU]:
        stage[-2], stage[-1] = parts[-1], parts[-2]


def _measure(model: nn.Module, images: Tensor) -> tuple[float, np.ndarray]:
    best = float("inf")
    for _ in range(STEPS + 1):
        model.zero_grad(set_to_none=True)
        begun = time.process_time()
        model(images).square().mean().backward()
        best = min(best, time.process_time() - begun)
    return best, _gradient(model)


def _gradient(model: nn.Module) -> np.ndarray:
    gradients = [weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]
    return np.asarray(torch.cat(gradients).numpy())


def _model(name: str, channels: int) -> EmbeddingModel:
    torch.manual_seed(0)
    trunk: Trunk = build("trunk", ComponentSpec(name=name), {"channels": channels})
    head = LinearHead(n_features=trunk.n_features, embedding_dim=128)
    return EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm="stats")


def _images(size: int, side: int, channels: int) -> Tensor:
    return torch.randn(size, channels, side, side, generator=torch.Generator().manual_seed(1))


def step_operations(network: nn.Module, images: Tensor) -> int:
    """Return the multiplications and additions of all convolutions and linear layers, forward and backward.

    Backward takes as many as forward for the gradient of the weights, and again for that of the input, where they are
    asked for. The network must call its layers as modules.
    """
    total = 0

    def count(layer: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        assert isinstance(layer.weight, Tensor)
        once = 2 * output.numel() * layer.weight[0].numel()
        total += once * (1 + int(layer.weight.requires_grad) + int(inputs[0].requires_grad))

    layers = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
    hooks = [layer.register_forward_hook(count) for layer in layers]
    with torch.enable_grad():
        network(images)
    for hook in hooks:
        hook.remove()
    return total
