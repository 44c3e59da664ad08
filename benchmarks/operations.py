"""How many operations a step of a network takes, counted from the shapes of its layers."""

import torch
from torch import Tensor, nn


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
