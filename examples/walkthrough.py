"""The whole walk by hand, on one page: data, split, batches, model, loss, validation, and only then the test classes.

    python examples/walkthrough.py

`fairground train` does the same with checkpoints, records and resume. Everything here is public.
"""

import torch

from fairground.datasets import IconsDataset
from fairground.evaluation import evaluate
from fairground.evaluation.embed import embed
from fairground.heads import LinearHead
from fairground.losses import TripletLoss
from fairground.miners import DistanceWeightedMiner
from fairground.samplers import PerClassSampler
from fairground.splits import HalfClassesSplit
from fairground.training.embedding_model import EmbeddingModel
from fairground.transforms import SmallImagesTransform
from fairground.trunks import SmallConvTrunk


def main(n_batches: int = 200) -> dict[str, float]:
    """Train a small network on icons and return its scores on classes it has never seen."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)

    table = IconsDataset().load()
    parts = HalfClassesSplit().parts(table)
    labels = torch.from_numpy(table.labels[parts.train])
    transform = SmallImagesTransform()
    sampler = PerClassSampler(labels=labels, batch_size=128, per_class=4)

    model = EmbeddingModel(trunk=SmallConvTrunk(channels=1), head=LinearHead(n_features=128, embedding_dim=128))
    miner, loss = DistanceWeightedMiner(), TripletLoss(margin=0.2)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def scores(rows: "torch.Tensor") -> dict[str, float]:
        embeddings = embed(model, table.images, rows, transform)
        return evaluate(embeddings, table.labels[rows], metrics=["recall@1", "map@r"])

    print("untrained, validation classes:", scores(parts.validation))
    for batch in range(1, n_batches + 1):
        rows = sampler.draw(generator)
        images = transform.train(table.images, parts.train[rows.numpy()], generator)
        embeddings = model(images)
        tuples = miner(embeddings, labels[rows], generator=generator)
        value = loss(embeddings, labels[rows], tuples)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        if batch % 50 == 0:
            print(f"batch {batch}: loss {value.item():.4f}, validation classes: {scores(parts.validation)}")

    final = scores(parts.test)
    print("trained, test classes:", final)
    return final


if __name__ == "__main__":
    main()
