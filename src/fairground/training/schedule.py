"""How rates and frozen weights change over a run: functions of the place reached alone, so resuming needs no memory.

Formula
    s = step from 0, b = batches of an epoch, W = warm-up steps, T = all steps
    factor(s) = (s + 1) / W for s < W, then
        constant: 1;  cosine: (1 + cos(pi (s - W) / (T - W))) / 2;  step: step_factor ** floor(s / b / step_epochs)

Paper
    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017 (cosine, no restart);
    Goyal et al., "Accurate, large minibatch SGD", 2017 (linear warm-up).
"""

import math
from dataclasses import dataclass, field

from torch import nn, optim

from fairground.spec.run import OptimiserSpec
from fairground.training.model import EmbeddingModel


def rate_factor(spec: OptimiserSpec, step: int, *, epochs: int, n_batches: int) -> float:
    """Return by what all rates are multiplied at a step, counted from 0."""
    warmup = round(spec.warmup_epochs * n_batches)
    if step < warmup:
        return (step + 1) / warmup
    if spec.schedule == "cosine":
        length = max(1, epochs * n_batches - warmup)
        return (1 + math.cos(math.pi * min(1.0, (step - warmup) / length))) / 2
    if spec.schedule == "step":
        return float(spec.step_factor ** (step // n_batches // spec.step_epochs))
    return 1.0


@dataclass
class Schedule:
    """Sets the rates before each step, and holds the trunk still for the first epochs."""

    spec: OptimiserSpec
    optimiser: optim.Optimizer
    model: EmbeddingModel
    epochs: int
    n_batches: int
    _rates: list[float] = field(init=False)
    _trunk: list[nn.Parameter] = field(init=False)

    def __post_init__(self) -> None:
        self._rates = [group["lr"] for group in self.optimiser.param_groups]
        self._trunk = [weight for weight in self.model.trunk.parameters() if weight.requires_grad]

    def before_epoch(self, epoch: int) -> None:
        """Freeze or free the trunk for an epoch, counted from 1; the model is in training mode already."""
        is_frozen = epoch <= self.spec.frozen_trunk_epochs
        if self.spec.frozen_trunk_epochs:
            for weight in self._trunk:
                weight.requires_grad_(not is_frozen)
        if is_frozen:
            # Batch norm of a trunk at rest keeps its statistics.
            self.model.trunk.eval()

    def before_step(self, step: int) -> None:
        """Set the rates of a step, counted from 0."""
        if self.spec.schedule == "constant" and not self.spec.warmup_epochs:
            return
        factor = rate_factor(self.spec, step, epochs=self.epochs, n_batches=self.n_batches)
        for group, rate in zip(self.optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
