"""One optimiser over three groups of weights: trunk, head, and the loss' own."""

from torch import nn, optim

from fairground.spec.run import OptimiserSpec
from fairground.training.model import EmbeddingModel


def build_optimiser(spec: OptimiserSpec, model: EmbeddingModel, loss: nn.Module) -> optim.Optimizer:
    """Return the optimiser; a rate left out follows `lr`, and a loss' weights get no decay unless asked."""
    head_lr = spec.lr if spec.head_lr is None else spec.head_lr
    loss_lr = spec.lr if spec.loss_lr is None else spec.loss_lr
    groups = [
        {"params": _trainable(model.trunk), "lr": spec.lr, "weight_decay": spec.weight_decay},
        {"params": _trainable(model.head), "lr": head_lr, "weight_decay": spec.weight_decay},
        {"params": _trainable(loss), "lr": loss_lr, "weight_decay": spec.loss_weight_decay},
    ]
    groups = [group for group in groups if group["params"]]
    match spec.name:
        case "adam":
            return optim.Adam(groups, fused=True)
        case "adamw":
            return optim.AdamW(groups, fused=True)
        case "sgd":
            return optim.SGD(groups, momentum=spec.momentum, fused=True)
        case "rmsprop":
            return optim.RMSprop(groups, momentum=spec.momentum, foreach=True)


def _trainable(module: nn.Module) -> list[nn.Parameter]:
    return [weight for weight in module.parameters() if weight.requires_grad]
