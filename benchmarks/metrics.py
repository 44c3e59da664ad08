"""Metrics against pytorch-metric-learning's AccuracyCalculator, faiss and scikit-learn, at the sizes papers use."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.contestants import accuracy_calculator, plain_product, synthetic
from benchmarks.harness import Table
from benchmarks.measuring import PeakMemory, in_turns, measured_apart
from fairground.evaluation import evaluate

RANKING = [f"recall@{k}" for k in (1, 2, 4, 8, 10, 100, 1000)] + ["r_precision", "map@r", "map"]
PEER = ("precision_at_1", "r_precision", "mean_average_precision_at_r")
PEER_ALL = (*PEER, "mean_average_precision", "mean_reciprocal_rank")
THREADS = 2


def tables() -> Iterator[Table]:
    """Yield every table of this benchmark."""
    torch.set_num_threads(THREADS)
    _warm_up()
    yield large()
    yield small()
    yield clustering()
    yield million()


def large(name: str = "SOP", dimensions: tuple[int, ...] = (128, 512), scale: int = 1) -> Table:
    """Ranking metrics at the size of Stanford Online Products."""
    rows = []
    for d in dimensions:
        embeddings, labels = synthetic(name, d, scale)
        times = in_turns(
            {
                "ours": lambda e=embeddings, y=labels: evaluate(e, y, RANKING, threads=THREADS),
                "naive": lambda e=embeddings: plain_product(e),
            },
            turns=3,
        )
        times |= in_turns({"peer": lambda e=embeddings, y=labels: accuracy_calculator(e, y, PEER)}, turns=1)
        peak = measured_apart(ranking_peak, name, d, scale)
        rows.append(
            [
                f"{len(labels):,} x {d}",
                f"{times['ours']:.1f}",
                f"{times['peer']:.1f}",
                f"{times['peer'] / times['ours']:.1f} x",
                f"{times['naive']:.1f}",
                f"{times['ours'] / times['naive']:.2f}",
                f"{peak:.0f}",
            ]
        )
    return Table(
        title="Ranking metrics at the size of Stanford Online Products",
        note=(
            "Ours: R@1,2,4,8,10,100,1000, R-precision, MAP@R and full mAP. AccuracyCalculator: precision at 1, "
            "R-precision and MAP@R with faiss-cpu, k = max_bin_count. Plain product: every product of two rows once, "
            "in blocks of 2,048 rows, nothing looked at. Seconds, 2 threads, classes of 2 to 12."
        ),
        header=[
            "embeddings",
            "ours s",
            "AccuracyCalculator s",
            "faster (>= 3 x)",
            "plain product s",
            "ours / plain (<= 0.9 at 512)",
            "peak memory above inputs, MB (< 1,000)",
        ],
        rows=rows,
    )


def small(scale: int = 1) -> Table:
    """Ranking metrics at the sizes of CUB and Cars196."""
    words = [*RANKING, "mrr"]
    rows = []
    for name in ("CUB", "Cars196"):
        for d in (128, 512):
            embeddings, labels = synthetic(name, d, scale)
            times = in_turns(
                {
                    "ours": lambda e=embeddings, y=labels: evaluate(e, y, words, threads=THREADS),
                    "short": lambda e=embeddings, y=labels: accuracy_calculator(e, y, PEER_ALL),
                },
                turns=5,
            )
            times |= in_turns(
                {"whole": lambda e=embeddings, y=labels: accuracy_calculator(e, y, PEER_ALL, k=None)}, turns=1
            )
            rows.append(
                [
                    f"{name}: {len(labels):,} x {d}",
                    f"{times['ours'] * 1e3:.0f}",
                    f"{times['whole'] * 1e3:.0f}",
                    f"{times['whole'] / times['ours']:.1f} x",
                    f"{times['short'] * 1e3:.0f}",
                    f"{times['short'] / times['ours']:.1f} x",
                ]
            )
    return Table(
        title="Ranking metrics at the sizes of CUB and Cars196",
        note=(
            "All ranking metrics of both: ours as above and mean reciprocal rank; AccuracyCalculator's five with "
            "faiss-cpu. Full mAP and mean reciprocal rank need whole lists (k = None, its default); with "
            "k = max_bin_count it looks at the first places only, and both are cut short. Milliseconds, 2 threads."
        ),
        header=[
            "embeddings",
            "ours ms",
            "AccuracyCalculator, whole lists ms",
            "faster (>= 5 x)",
            "AccuracyCalculator, first places only ms",
            "faster",
        ],
        rows=rows,
    )


def clustering(name: str = "SOP", scale: int = 1) -> Table:
    """k-means against faiss, AMI against scikit-learn."""
    import faiss
    from sklearn.metrics import adjusted_mutual_info_score

    from fairground.metrics import AmiMetric
    from fairground.retrieval.contingency import contingency
    from fairground.retrieval.kmeans import kmeans

    embeddings, labels = synthetic(name, 128, scale)
    k = int(labels.max()) + 1
    faiss.omp_set_num_threads(THREADS)
    found: dict[str, Any] = {}

    def peer() -> None:
        found["peer"] = model = faiss.Kmeans(128, k, niter=20, seed=1234, min_points_per_centroid=1)
        model.train(embeddings)

    def ours() -> None:
        generator = torch.Generator().manual_seed(1235)
        found["ours"] = kmeans(embeddings, k, generator=generator, threads=THREADS)

    times = in_turns({"ours": ours, "peer": peer}, turns=2)
    inertia = float(found["peer"].index.search(embeddings, 1)[0].sum())
    rows = [
        [
            f"k-means, {len(labels):,} x 128, {k:,} centroids, up to 20 rounds",
            f"{times['ours']:.2f} (inertia {found['ours'].inertia:.2f}, {found['ours'].n_rounds} rounds)",
            f"faiss {times['peer']:.2f} (inertia {inertia:.2f}, {len(found['peer'].obj)} rounds)",
            f"{times['peer'] / times['ours']:.1f} x (>= 1 x)",
        ]
    ]
    draw = np.random.default_rng(0)
    guess = np.where(draw.random(len(labels)) < 0.5, labels, draw.integers(k, size=len(labels)))
    scores: dict[str, float] = {}
    times = in_turns(
        {"ours": lambda: scores.update(ours=AmiMetric().score(contingency(labels, guess)))}, turns=5
    ) | in_turns({"peer": lambda: scores.update(peer=adjusted_mutual_info_score(labels, guess))}, turns=1)
    rows.append(
        [
            f"AMI, {len(labels):,} rows, {k:,} clusters (scores differ by {abs(scores['ours'] - scores['peer']):.0e})",
            f"{times['ours']:.4f}",
            f"scikit-learn {times['peer']:.2f}",
            f"{times['peer'] / times['ours']:,.0f} x (>= 100 x)",
        ]
    )
    return Table(
        title="Clustering at the size of Stanford Online Products",
        note="Seconds, 2 threads; both k-means start from the same points.",
        header=["work", "ours s", "peer s", "faster"],
        rows=rows,
    )


def million(n: int = 1_000_000, n_queries: int = 2_048) -> Table:
    """A million embeddings in a memory-mapped file, searched by a sample of them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "embeddings.npy"
        draw = np.random.default_rng(0)
        file = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 128))
        for begin in range(0, n, 50_000):
            file[begin : begin + 50_000] = draw.standard_normal((min(50_000, n - begin), 128), dtype=np.float32)
        file.flush()
        del file
        seconds, peak = measured_apart(streamed, str(path), n_queries)
    whole = seconds / n_queries * n / 3600
    return Table(
        title="A million embeddings in a memory-mapped file",
        note="Ranking metrics as above, 2 threads; rows are read from the file tile by tile and never all held.",
        header=[
            "work",
            "seconds",
            "peak memory, MB",
            "all as queries, extrapolated",
            "the same, each product used twice",
        ],
        rows=[
            [
                f"{n_queries:,} sampled queries in {n:,} x 128",
                f"{seconds:.1f}",
                f"{peak:.0f}",
                f"{whole:.2f} hours",
                f"{whole / 2:.2f} hours",
            ]
        ],
    )


def ranking_peak(name: str, d: int, scale: int) -> float:
    """Return the megabytes that ranking metrics take above their inputs."""
    _warm_up()
    embeddings, labels = synthetic(name, d, scale)
    with PeakMemory() as peak:
        evaluate(embeddings, labels, RANKING, threads=THREADS)
    return peak.megabytes


def streamed(path: str, n_queries: int) -> tuple[float, float]:
    """Return seconds and megabytes of sampled queries against a memory-mapped file."""
    _warm_up()
    embeddings = np.load(path, mmap_mode="r")
    labels = np.arange(len(embeddings)) // 5
    rows = np.linspace(0, len(embeddings) - 1, n_queries).astype(np.int64)
    begun = time.perf_counter()
    with PeakMemory() as peak:
        evaluate(embeddings, labels, RANKING, query_rows=rows, threads=THREADS)
    return time.perf_counter() - begun, peak.megabytes


def _warm_up() -> None:
    """Compile, or load from the cache, every loop that will be timed."""
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 50)
    evaluate(draw.standard_normal((600, 8), dtype=np.float32), labels, [*RANKING, "nmi"], threads=THREADS)
