"""Our sampler, miner and loss in PyTorch Lightning.

    pip install lightning
    python examples/lightning_loop.py

The loss is a submodule, so that its weights are trained, moved and saved with the model's. On several devices every
process trains on its share of each batch, with the loss of the whole batch; on one, nothing changes.
"""

from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import fairground as fg


class Embedding(lightning.LightningModule):
    """A small network that learns by proxies, with pairs that a miner chooses pulling as well."""

    def __init__(self, n_classes: int, embedding_dim: int = 64) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Conv2d(1, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, embedding_dim),
        )  # fmt: skip
        proxies = fg.losses.ProxyAnchorLoss(n_classes=n_classes, embedding_dim=embedding_dim)
        self.proxies = fg.distributed.GatheredLoss(proxies)
        self.pairs = fg.distributed.GatheredLoss(fg.losses.MultiSimilarityLoss())
        self.miner = fg.distributed.GatheredMiner(fg.miners.MultiSimilarityMiner())

    def forward(self, images: Tensor) -> Tensor:
        """Return embeddings (n, d)."""
        embeddings: Tensor = self.network(images)
        return embeddings

    def training_step(self, batch: tuple[Tensor, Tensor], _index: int) -> Tensor:
        """Return the loss of a batch."""
        images, labels = batch
        embeddings = self(images)
        tuples = self.miner(embeddings, labels)
        value: Tensor = self.proxies(embeddings, labels) + self.pairs(embeddings, labels, tuples)
        self.log("loss", value, prog_bar=True)
        return value

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Give the proxies a rate of their own, as their paper does."""
        groups = [
            {"params": self.network.parameters(), "lr": 1e-3},
            {"params": self.proxies.parameters(), "lr": 1e-1},
        ]
        return torch.optim.AdamW(groups)


def main(max_epochs: int = 3, max_steps: int = -1, **trainer_settings: Any) -> dict[str, float]:
    """Train on half of the icons' classes and return the scores on the other half."""
    lightning.seed_everything(0, verbose=False)
    table = fg.datasets.IconsDataset().load()
    parts = fg.splits.HalfClassesSplit().parts(table)
    images = table.images.take(np.arange(len(table.labels))).float() / 255
    classes, labels = np.unique(table.labels[parts.train], return_inverse=True)

    sampler = fg.samplers.BalancedSampler(labels=labels, batch_size=112, per_class=4, seed=0)
    train = TensorDataset(images[torch.from_numpy(parts.train)], torch.from_numpy(labels))
    model = Embedding(n_classes=len(classes))
    trainer = lightning.Trainer(
        max_epochs=max_epochs, max_steps=max_steps, use_distributed_sampler=False, logger=False,
        enable_checkpointing=False, enable_model_summary=False, enable_progress_bar=False, **trainer_settings,
    )  # fmt: skip
    trainer.fit(model, DataLoader(train, batch_sampler=fg.distributed.ShardedSampler(sampler)))
    model.cpu()

    with torch.no_grad():
        embeddings = model.eval()(images[torch.from_numpy(parts.test)])
    scores = fg.evaluate(embeddings, table.labels[parts.test], metrics=["recall@1", "map@r"])
    print("test classes:", scores)
    return scores


if __name__ == "__main__":
    main()
