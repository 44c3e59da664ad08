"""Every miner that pytorch-metric-learning has too, against it: one thread, turns taken, same embeddings."""

from collections.abc import Iterator
from functools import partial

import torch
from pytorch_metric_learning import miners as peer
from torch import Tensor

from benchmarks.harness import Table, best_times, geometric_mean, milliseconds
from fairground import miners
from fairground.contracts.miner import Miner

DIMENSION = 128
BATCHES = ((112, 2), (512, 4))
#: ours, theirs: the same definition, so that both return the same tuples (by chance the same number, where drawn)
PAIRS: dict[str, tuple[Miner, torch.nn.Module]] = {
    "all_tuples": (miners.AllTuplesMiner(), peer.TripletMarginMiner(margin=4, type_of_triplets="all")),
    "all_hard, margin 0.2": (
        miners.AllHardMiner(margin=0.2),
        peer.TripletMarginMiner(margin=0.2, type_of_triplets="all"),
    ),
    "all_hard": (miners.AllHardMiner(), peer.TripletMarginMiner(margin=0.2, type_of_triplets="hard")),
    "all_semihard": (miners.AllSemihardMiner(), peer.TripletMarginMiner(margin=0.2, type_of_triplets="semihard")),
    "hardest": (miners.HardestMiner(), peer.BatchHardMiner()),
    "easy_positive": (miners.EasyPositiveMiner(), peer.BatchEasyHardMiner()),
    "distance_weighted, class_count": (
        miners.DistanceWeightedMiner(per_anchor="class_count"),
        peer.DistanceWeightedMiner(),
    ),
    "multi_similarity": (miners.MultiSimilarityMiner(), peer.MultiSimilarityMiner()),
}
#: miners without a counterpart there, timed alone
ALONE: dict[str, Miner] = {
    "random": miners.RandomMiner(),
    "random, roth_code": miners.RandomMiner(roth_code=True),
    "semihard": miners.SemihardMiner(),
    "softhard": miners.SofthardMiner(),
    "distance_weighted": miners.DistanceWeightedMiner(),
    "rho_distance": miners.RhoDistanceMiner(),
    "all_tuples, 4 an anchor": miners.AllTuplesMiner(per_anchor_cap=4),
    "all_semihard, 4 an anchor": miners.AllSemihardMiner(per_anchor_cap=4),
}


def tables() -> Iterator[Table]:
    torch.set_num_threads(1)
    yield _against_the_peer()
    yield _alone()


def _against_the_peer() -> Table:
    rows = []
    for n, per_class in BATCHES:
        embeddings, labels = _batch(n, per_class)
        generator = torch.Generator().manual_seed(1)
        ratios = []
        for name, (ours, theirs) in PAIRS.items():
            times = best_times(
                {
                    "ours": partial(ours, embeddings, labels, generator=generator),
                    "theirs": partial(theirs, embeddings, labels),
                },
                turns=5,
            )
            ratios.append(times["theirs"] / times["ours"])
            size = ours(embeddings, labels, generator=generator).size
            milliseconds_each = (milliseconds(times["ours"]), milliseconds(times["theirs"]))
            rows.append([f"{n} ({per_class} a class)", name, f"{size:,}", *milliseconds_each, f"{ratios[-1]:.1f}"])
        rows.append(
            [f"{n} ({per_class} a class)", "**geometric mean**", "", "", "", f"**{geometric_mean(ratios):.1f}**"]
        )
    return Table(
        title="Miners against pytorch-metric-learning 2.9",
        note=f"Dimension {DIMENSION}, float32, one thread; loosely clustered random embeddings. Milliseconds a call.",
        header=["batch", "miner", "tuples", "fairground", "peer", "times faster"],
        rows=rows,
    )


def _alone() -> Table:
    rows = []
    batches = {n: _batch(n, per_class) for n, per_class in (*BATCHES, (4096, 4))}
    generator = torch.Generator().manual_seed(1)
    for name, miner in ALONE.items():
        cells = []
        for embeddings, labels in batches.values():
            call = {"ours": partial(miner, embeddings, labels, generator=generator)}
            cells.append(milliseconds(best_times(call, turns=3)["ours"]))
        rows.append([name, *cells])
    return Table(
        title="Miners without a counterpart there, and batches of 4,096",
        note=f"Dimension {DIMENSION}, float32, one thread. Milliseconds a call; 2 a class at 112, else 4 a class.",
        header=["miner", *(f"batch {n:,}" for n in batches)],
        rows=rows,
    )


def _batch(n: int, per_class: int) -> tuple[Tensor, Tensor]:
    """Return embeddings of classes that overlap, as they do in the middle of training."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(n) // per_class
    centres = torch.randn(n // per_class, DIMENSION, generator=generator)
    return centres[labels] + 1.5 * torch.randn(n, DIMENSION, generator=generator), labels
