"""One optimiser over three groups of weights: trunk, head, and the loss' own."""

import inspect
from typing import TypeVar, cast

import torch
from torch import nn, optim

from fairground.errors import require
from fairground.spec.run import OptimiserSpec, RunSpec
from fairground.training.model import EmbeddingModel

Kind = TypeVar("Kind", bound=optim.Optimizer)


def build_optimiser(spec: OptimiserSpec, model: EmbeddingModel, loss: nn.Module) -> optim.Optimizer:
    """Return the optimiser; a rate left out follows `lr`, and a loss' weights get no decay unless asked."""
    head_lr = spec.lr if spec.head_lr is None else spec.head_lr
    loss_lr = spec.lr if spec.loss_lr is None else spec.loss_lr
    groups = [
        {"params": _trainable(model.trunk), "lr": spec.lr, "weight_decay": spec.weight_decay},
        {"params": _trainable(model.head), "lr": head_lr, "weight_decay": spec.weight_decay},
        {"params": _trainable(loss), "lr": loss_lr, "weight_decay": spec.loss_weight_decay},
    ]
    # torch wants at least one weight; ready-made features that are only evaluated have none.
    groups = [group for group in groups if group["params"]] or [{"params": [nn.Parameter(torch.zeros(0))]}]
    match spec.name:
        case "adam":
            return _without_compiler(optim.Adam)(groups, fused=True)
        case "adamw":
            return _without_compiler(optim.AdamW)(groups, fused=True)
        case "sgd":
            return _without_compiler(optim.SGD)(groups, momentum=spec.momentum, fused=True)
        case "rmsprop":
            return _without_compiler(optim.RMSprop)(groups, momentum=spec.momentum, foreach=True)


def _without_compiler(kind: type[Kind]) -> type[Kind]:
    """Return the optimiser without the wrappers that import torch's compiler, which takes longer than torch itself.

    The wrappers only tell the compiler to leave these methods alone, and `step` to run without gradient.
    """
    names = ("add_param_group", "zero_grad", "state_dict", "load_state_dict")
    methods = {name: inspect.unwrap(getattr(kind, name)) for name in names}
    step = torch.no_grad()(inspect.unwrap(kind.step))
    return cast("type[Kind]", type(kind.__name__, (kind,), {**methods, "step": step}))


def require_weights(spec: RunSpec, model: EmbeddingModel, loss: nn.Module) -> None:
    """Refuse to train where nothing can learn, such as ready-made features with no head."""
    require(
        bool(_trainable(model) + _trainable(loss)) or spec.training.epochs == 0,
        f"trunk {spec.trunk.name} with head {spec.head.name} has no weights to train; choose head=linear, or say "
        "training.epochs=0 to evaluate the features as they are",
    )
    require(
        spec.optimiser.frozen_trunk_epochs == 0 or bool(_trainable(model.head) + _trainable(loss)),
        f"optimiser.frozen_trunk_epochs leaves nothing to train: head {spec.head.name} and loss {spec.loss.name} have "
        "no weights; choose head=linear",
    )


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [weight for weight in module.parameters() if weight.requires_grad]
