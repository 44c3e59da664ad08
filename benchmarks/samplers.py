"""What choosing a batch costs: beside a training step, against the formulas in NumPy, and over a million images."""

import os
from collections.abc import Callable, Iterator

import numpy as np
import torch
from pytorch_metric_learning.samplers import MPerClassSampler
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist, pdist
from scipy.stats import wasserstein_distance
from torch import Tensor

from benchmarks.harness import Table, best_times, milliseconds
from fairground.contracts.sampler import BatchSampler
from fairground.samplers.distance_distribution import distance_histograms, wasserstein
from fairground.samplers.frechet import frechet_distances
from fairground.samplers.greedy_coreset import farthest_first
from fairground.spec.catalogue import find

BATCH, POOL, CANDIDATES, PER_CLASS = 112, 1024, 10, 2
N_PICKS = BATCH // PER_CLASS
#: images and classes of the largest training split of the papers
IMAGES, CLASSES = 59_551, 11_318
EMBEDDED = {
    "greedy_coreset": "GC",
    "distance_distribution": "DDM",
    "frechet": "FRD",
    "d2_coreset": "d2",
}


def tables() -> Iterator[Table]:
    """Yield the share of a step, the ratio to a transcription, and the time to plan a large epoch."""
    torch.set_num_threads(os.cpu_count() or 1)
    yield _beside_a_step()
    yield _against_a_transcription()
    yield _a_million_images()


def _beside_a_step() -> Table:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(CLASSES, (IMAGES,), generator=generator)
    rows = []
    for dimension in (128, 512):
        embeddings = torch.randn(IMAGES, dimension, generator=generator)
        contestants: dict[str, Callable[[], object]] = {"step": _training_step()}
        for name in EMBEDDED:
            sampler = find("samplers", name)(labels=labels, batch_size=BATCH, per_class=PER_CLASS, pool=POOL)
            sampler.fill(embeddings)
            contestants[name] = lambda s=sampler: s.draw(generator)
        seen = embeddings[:BATCH].clone()
        contestants["observe"] = lambda s=sampler, e=seen: s.observe(torch.arange(BATCH), e)
        times = best_times(contestants, turns=9)
        for name, word in EMBEDDED.items():
            share = (times[name] + times["observe"]) / times["step"]
            cells = [f"{name} ({word})", str(dimension), milliseconds(times[name]), milliseconds(times["observe"])]
            rows.append([*cells, f"{share:.1%} of {milliseconds(times['step'])} ms"])
    return Table(
        title="Choosing one batch, beside a training step",
        note=f"One batch of {BATCH} ({PER_CLASS} a class) from a pool of {POOL}, the best of {CANDIDATES} candidates "
        f"where there are any, out of {IMAGES} images in {CLASSES} classes; then the batch's embeddings written back "
        "to the memory bank. The step is the default one: small_conv, embedding 128, contrastive loss, batch 128. "
        f"{torch.get_num_threads()} threads.",
        header=["sampler", "dimensions", "choose, ms", "write back, ms", "both, of a step (goal: under 10 %)"],
        rows=rows,
    )


def _training_step() -> Callable[[], None]:
    trunk = find("trunks", "small_conv")(channels=1)
    model = torch.nn.Sequential(trunk, find("heads", "linear")(n_features=trunk.n_features, embedding_dim=128))
    loss = find("losses", "contrastive")()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = torch.rand(128, 1, 32, 32), torch.arange(32).repeat_interleave(4)

    def step() -> None:
        optimiser.zero_grad()
        loss(model(images), labels).backward()
        optimiser.step()

    return step


def _against_a_transcription() -> Table:
    generator = torch.Generator().manual_seed(0)
    rows = []
    for dimension in (128, 512):
        points = torch.nn.functional.normalize(torch.randn(POOL, dimension, generator=generator))
        batches = torch.stack([torch.randperm(POOL, generator=generator)[:BATCH] for _ in range(CANDIDATES)])
        wide, candidates = points.double().numpy(), list(batches.numpy())
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object], int]] = {
            "GC": (lambda p=points: farthest_first(p, N_PICKS, generator), lambda w=wide: _farthest(w, N_PICKS), 5),
            "DDM": (lambda p=points, b=batches: _best_w1(p, b), lambda w=wide, c=candidates: _best_histogram(w, c), 20),
            "FRD": (
                lambda p=points, b=batches: int(frechet_distances(p, b).argmin()),
                lambda w=wide, c=candidates: _best_root(w, c),
                50,
            ),
        }
        for word, (ours, transcription, goal) in pairs.items():
            times = best_times({"ours": ours, "theirs": transcription}, turns=5 if word != "FRD" else 2)
            ratio = times["theirs"] / times["ours"]
            cells = [word, str(dimension), milliseconds(times["ours"]), milliseconds(times["theirs"])]
            rows.append([*cells, f"{ratio:.1f}", str(goal)])
    return Table(
        title="Choosing one batch, against the formulas in NumPy and SciPy",
        note=f"From the same {POOL} points and {CANDIDATES} candidates of {BATCH}: `cdist` and a loop of picks for GC; "
        "`pdist`, `np.histogram` and `wasserstein_distance` for DDM; `np.cov` and `sqrtm` for FRD; a loop over "
        "candidates for both.",
        header=["sampler", "dimensions", "ours, ms", "transcription, ms", "ratio", "goal"],
        rows=rows,
    )


def _best_w1(points: Tensor, batches: Tensor) -> int:
    whole, parts, width = distance_histograms(points, batches, 50)
    return int(wasserstein(parts, whole, width).argmin())


def _farthest(points: np.ndarray, k: int) -> list[int]:
    distances = cdist(points, points)
    picks = [0]
    while len(picks) < k:
        picks.append(int(distances[:, picks].min(axis=1).argmax()))
    return picks


def _best_histogram(points: np.ndarray, candidates: list[np.ndarray]) -> int:
    distances = pdist(points)
    edges = np.linspace(distances.min(), distances.max(), 51)
    whole, _ = np.histogram(distances, edges)
    costs = []
    for batch in candidates:
        part, _ = np.histogram(pdist(points[batch]), edges)
        costs.append(wasserstein_distance(edges[:-1], edges[:-1], part, whole))
    return int(np.argmin(costs))


def _best_root(points: np.ndarray, candidates: list[np.ndarray]) -> int:
    lift = 1e-8 * np.eye(points.shape[1])
    mean, whole = points.mean(0), np.cov(points.T)
    costs = []
    for batch in candidates:
        shift, own = points[batch].mean(0) - mean, np.cov(points[batch].T)
        root = sqrtm((own + lift) @ (whole + lift)).real
        costs.append(shift @ shift + np.trace(own + whole - 2 * root))
    return int(np.argmin(costs))


def _a_million_images() -> Table:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(100_000).repeat_interleave(10)
    rows = []
    for name in ("per_class", "m_per_class", "balanced", "uniform", "per_class_random"):
        sampler = find("samplers", name)(labels=labels, batch_size=BATCH)
        times = best_times({name: lambda s=sampler: _epoch(s, generator)}, turns=2)
        rows.append([name, str(sampler.n_batches), f"{times[name]:.2f}", "2" if name == "per_class" else ""])
    # The peer shuffles all classes for every batch: a hundred batches are enough to tell.
    peer = MPerClassSampler(labels.numpy(), m=4, batch_size=BATCH, length_before_new_iter=100 * BATCH)
    seconds = best_times({"peer": lambda: list(peer)}, turns=2)["peer"] * len(labels) / BATCH / 100
    rows.append(["MPerClassSampler of pytorch-metric-learning, scaled up from 100", "8928", f"{seconds:.0f}", ""])
    return Table(
        title="Planning an epoch over a million images",
        note="1,000,000 images in 100,000 classes, batches of 112 with 4 images a class where the sampler has such a "
        "setting: all batches of one epoch.",
        header=["sampler", "batches", "seconds", "goal: under"],
        rows=rows,
    )


def _epoch(sampler: BatchSampler, generator: torch.Generator) -> None:
    sampler.start_epoch(generator)
    for _ in range(sampler.n_batches):
        sampler.draw(generator)
