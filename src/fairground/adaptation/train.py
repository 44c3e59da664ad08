"""One short training by number of steps: batches of a few images of a class, rates that fall along a cosine.

Formula
    lr_t = lr (1 + cos(pi t / T)) / 2  for step t of T, for every group of weights
"""

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from fairground.adaptation.inputs import TrainingInputs
from fairground.contracts.batch import Batch
from fairground.contracts.loss import Loss
from fairground.spec.identity import child_seed
from fairground.spec.run import RunSpec
from fairground.training.build import build
from fairground.training.model import EmbeddingModel
from fairground.training.optimiser import build_optimiser
from fairground.training.step import Stepper

PER_CLASS = 4
#: is called before every step; whoever wants training to stop raises
Tick = Callable[[], None]


def seeded_loss(spec: RunSpec, *, n_classes: int, embedding_dim: int) -> Loss:
    """Return the loss of a spec with first weights of the spec's seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(child_seed(spec.seed, "init_loss"))
        loss: Loss = build("loss", spec.loss, {"n_classes": n_classes, "embedding_dim": embedding_dim})
    return loss


def train_steps(
    model: EmbeddingModel,
    loss: Loss,
    spec: RunSpec,
    inputs: TrainingInputs,
    rows: np.ndarray,
    labels: Tensor,
    *,
    steps: int,
    batch_size: int,
    tick: Tick = lambda: None,
) -> None:
    """Train on `rows` of class `labels` (0..C-1) for so many steps; the model is left ready to evaluate.

    Classes of a batch differ, so that one never has more than `PER_CLASS` images of each class there is.
    """
    n_classes = int(labels.max()) + 1
    per_class = int(str(spec.sampler.settings.get("per_class", PER_CLASS)))
    size = min(batch_size - batch_size % per_class, per_class * n_classes)
    sampler = build("sampler", spec.sampler, {"labels": labels, "batch_size": size, "super_labels": None})
    drawing = torch.Generator().manual_seed(child_seed(spec.seed, "sampler"))
    augmenting = torch.Generator().manual_seed(child_seed(spec.seed, "augment"))
    optimiser = build_optimiser(spec.optimiser, model, loss)
    rates = [float(group["lr"]) for group in optimiser.param_groups]
    stepper = Stepper(
        model=model,
        loss=loss,
        miner=None if spec.miner is None else build("miner", spec.miner, {}),
        regulariser=None if spec.regulariser is None else build("regulariser", spec.regulariser, {}),
        optimiser=optimiser,
        generator=torch.Generator().manual_seed(child_seed(spec.seed, "miner")),
    )
    model.train()
    sampler.start_epoch(drawing)
    for step in range(steps):
        tick()
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
        chosen = sampler.draw(drawing)
        batch = Batch((inputs.train(rows[chosen.numpy()], augmenting),), labels[chosen], chosen)
        stepper.step(batch)
    model.eval()
