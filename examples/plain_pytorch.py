"""Our sampler, miner and loss in a plain PyTorch loop: `fg.samplers` are batch samplers of any `DataLoader`.

    python examples/plain_pytorch.py

The network, the optimiser and the loop are yours; the sampler's `state_dict` belongs into your checkpoint.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

import fairground as fg


def icons() -> tuple[Tensor, Tensor]:
    """Return the embedded icons (n, 1, 32, 32) in [0, 1], and their classes (n,)."""
    table = fg.datasets.IconsDataset().load()
    return table.images.take(np.arange(len(table.labels))).float() / 255, torch.from_numpy(table.labels)


def network() -> nn.Module:
    """Return a small network; any module that gives (n, d) will do."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, stride=2), nn.ReLU(), nn.Conv2d(32, 64, 3, stride=2), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(256, 64),
    )  # fmt: skip


def main(n_epochs: int = 3) -> dict[str, float]:
    """Train on the even classes and return the scores on the odd ones, which the network never sees."""
    torch.manual_seed(0)
    images, labels = icons()
    is_seen = labels % 2 == 0
    seen, unseen = TensorDataset(images[is_seen], labels[is_seen]), images[~is_seen]

    sampler = fg.samplers.PerClassSampler(labels=labels[is_seen], batch_size=112, per_class=4, seed=0)
    loader = DataLoader(seen, batch_sampler=sampler)
    miner, loss = fg.miners.DistanceWeightedMiner(), fg.losses.MarginLoss(beta=1.2)
    model, generator = network(), torch.Generator().manual_seed(0)
    # The margin loss learns its boundary: a loss is a module, and its parameters go to the optimiser like any other.
    optimiser = torch.optim.Adam([*model.parameters(), *loss.parameters()], lr=1e-3)

    for epoch in range(n_epochs):
        total = 0.0
        for batch, classes in loader:
            embeddings = model(batch)
            value = loss(embeddings, classes, miner(embeddings, classes, generator=generator))
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            total += value.item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")

    with torch.no_grad():
        scores = fg.evaluate(model.eval()(unseen), labels[~is_seen], metrics=["recall@1", "map@r"])
    print("unseen classes:", scores)
    return scores


if __name__ == "__main__":
    main()
