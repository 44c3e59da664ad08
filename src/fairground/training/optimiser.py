"""The optimiser over three groups of weights (trunk, head, the loss' own), and its rates over a run.

Rates and frozen weights are functions of the place reached alone, so resuming needs no memory of them.

Formula
    s = step from 0, b = batches of an epoch, W = warm-up steps, T = all steps
    factor(s) = (s + 1) / W for s < W, then
        constant: 1;  cosine: (1 + cos(pi (s - W) / (T - W))) / 2;  step: step_factor ** floor(s / b / step_epochs)

Paper
    Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017 (cosine, no restart);
    Goyal et al., "Accurate, large minibatch SGD", 2017 (linear warm-up).
"""

import inspect
import math
from typing import Any

import torch

from fairground.spec import OBJECTS, InputError, OptimiserSpec, RunSpec, find_outside, nearest, require
from fairground.training.embedding_model import EmbeddingModel


def build_optimiser(spec: OptimiserSpec, model: EmbeddingModel, loss: torch.nn.Module) -> torch.optim.Optimizer:
    """Return the optimiser; a rate left out follows `lr`, and a loss' weights get no decay unless asked."""
    head_lr = spec.lr if spec.head_lr is None else spec.head_lr
    loss_lr = spec.lr if spec.loss_lr is None else spec.loss_lr
    groups: list[dict[str, Any]] = [
        {"params": _trainable(model.trunk), "lr": spec.lr, "weight_decay": spec.weight_decay},
        {"params": _trainable(model.head), "lr": head_lr, "weight_decay": spec.weight_decay},
        {"params": _trainable(loss), "lr": loss_lr, "weight_decay": spec.loss_weight_decay},
    ]
    # torch wants at least one weight; ready-made features that are only evaluated have none.
    groups = [group for group in groups if group["params"]] or [{"params": [torch.nn.Parameter(torch.zeros(0))]}]
    match spec.name:
        case "adam":
            return torch.optim.Adam(groups, fused=True)
        case "adamw":
            return torch.optim.AdamW(groups, fused=True)
        case "sgd":
            return torch.optim.SGD(groups, momentum=spec.momentum, fused=True)
        case "rmsprop":
            return torch.optim.RMSprop(groups, momentum=spec.momentum, foreach=True)
        case _:
            return _outside_optimiser(spec, groups)


def _outside_optimiser(spec: OptimiserSpec, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    found = find_outside(spec.name)
    is_optimiser = spec.name in OBJECTS or (inspect.isclass(found) and issubclass(found, torch.optim.Optimizer))
    require(is_optimiser, f"optimiser={spec.name} is not an optimiser: it must be torch's Optimizer")
    takes = inspect.signature(found).parameters
    momentum = {"momentum": spec.momentum} if spec.momentum else {}
    for setting in {**momentum, **spec.settings}:
        refusal = f"no setting 'optimiser.{setting}'.{nearest(setting, takes)} ({spec.name} takes {', '.join(takes)}.)"
        require(setting in takes, refusal)
    # The settings of a file or a command line have lists where torch wants pairs.
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in spec.settings.items()}
    try:
        made: torch.optim.Optimizer = found(groups, **settings, **momentum)
    except (TypeError, ValueError) as error:
        raise InputError(f"{spec.name} cannot be made with these settings: {error}") from error
    return made


def require_weights(spec: RunSpec, model: EmbeddingModel, loss: torch.nn.Module) -> None:
    """Refuse to train where nothing can learn, such as ready-made features with no head."""
    complaint = f"trunk {spec.trunk.name} with head {spec.head.name} has no weights to train"
    advice = "choose head=linear, or set training.epochs=0 to evaluate the features as they are"
    can_train = bool(_trainable(model) + _trainable(loss)) or spec.training.epochs == 0
    require(can_train, f"{complaint}; {advice}")
    without = f"head {spec.head.name} and loss {spec.loss.name} have no weights; choose head=linear"
    can_train = spec.optimiser.frozen_trunk_epochs == 0 or bool(_trainable(model.head) + _trainable(loss))
    require(can_train, f"optimiser.frozen_trunk_epochs leaves nothing to train: {without}")


def _trainable(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    return [weight for weight in module.parameters() if weight.requires_grad]


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


class Schedule:
    """Sets the rates before each step, and holds the trunk still for the first epochs."""

    def __init__(self, spec: RunSpec, optimiser: torch.optim.Optimizer, model: EmbeddingModel, n_batches: int) -> None:
        self._spec, self._epochs, self._n_batches = spec.optimiser, spec.training.epochs, n_batches
        self._optimiser, self._trunk = optimiser, model.trunk
        self._rates = [group["lr"] for group in optimiser.param_groups]
        self._weights = _trainable(model.trunk)

    def before_epoch(self, epoch: int) -> None:
        """Freeze or free the trunk for an epoch, counted from 1; the model is in training mode already."""
        is_frozen = epoch <= self._spec.frozen_trunk_epochs
        if self._spec.frozen_trunk_epochs:
            for weight in self._weights:
                weight.requires_grad_(not is_frozen)
        if is_frozen:
            # Batch norm of a trunk at rest keeps its statistics.
            self._trunk.eval()

    def before_step(self, step: int) -> None:
        if self._spec.schedule == "constant" and not self._spec.warmup_epochs:
            return
        factor = rate_factor(self._spec, step, epochs=self._epochs, n_batches=self._n_batches)
        for group, rate in zip(self._optimiser.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
