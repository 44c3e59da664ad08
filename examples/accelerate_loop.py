"""Our loss and a sampler that looks at embeddings, in a loop with Hugging Face Accelerate.

    pip install accelerate
    accelerate launch examples/accelerate_loop.py

A sampler that looks at embeddings is filled once with those of all training images, and shown those of every batch. It
needs to know which rows a batch holds, so the data set gives the row as well. In several processes each embeds its
share of every batch, and all compute the loss of the whole batch. The loader gives each process its share already, so
Accelerate does not prepare it.
"""

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import fairground as fg


def main(n_epochs: int = 2) -> dict[str, float]:
    """Train on half of the icons' classes and return the scores on the other half."""
    torch.manual_seed(0)
    accelerator = Accelerator()
    device = accelerator.device
    table = fg.datasets.IconsDataset().load()
    parts = fg.splits.HalfClassesSplit().parts(table)
    images = table.images.take(np.arange(len(table.labels))).float() / 255
    labels = torch.from_numpy(table.labels)
    train, test = torch.from_numpy(parts.train), torch.from_numpy(parts.test)

    model: nn.Module = nn.Sequential(
        nn.Conv2d(1, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 64),
    )  # fmt: skip
    sampler = fg.samplers.GreedyCoresetSampler(labels=labels[train], batch_size=112, per_class=4, seed=0)
    rows = TensorDataset(images[train], labels[train], torch.arange(len(train)))
    loss = fg.distributed.GatheredLoss(fg.losses.ContrastiveLoss(negative_margin=1.0))
    miner = fg.distributed.GatheredMiner(fg.miners.AllHardMiner())
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    model, optimiser = accelerator.prepare(model, optimiser)
    loader = DataLoader(rows, batch_sampler=fg.distributed.ShardedSampler(sampler))

    @torch.no_grad()
    def embed(some: Tensor) -> Tensor:
        return torch.cat([model(block.to(device)).cpu() for block in images[some].split(1024)])

    sampler.fill(embed(train))
    for epoch in range(n_epochs):
        values = []
        for batch in loader:
            pictures, classes, places = (column.to(device) for column in batch)
            embeddings = model(pictures)
            value = loss(embeddings, classes, miner(embeddings, classes))
            optimiser.zero_grad()
            accelerator.backward(value)
            optimiser.step()
            seen, all_places = fg.distributed.gather(embeddings.detach()), fg.distributed.gather(places)
            sampler.observe(all_places.cpu(), seen.cpu())
            values.append(value.item())
        accelerator.print(f"epoch {epoch + 1}: loss {np.mean(values):.4f}")

    scores = fg.evaluate(embed(test), labels[test], metrics=["recall@1", "map@r"])
    accelerator.print("test classes:", scores)
    return scores


if __name__ == "__main__":
    main()
