"""Methods published since 2020 against other libraries that have them: values, and time.

Losses that pytorch-metric-learning has under the same batches are in `benchmarks.losses`, re-ranking is in
`benchmarks.reranking`. Smooth-AP is the same function there for as many classes as samples in each.
"""

import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import torch
from sklearn.metrics import ndcg_score
from torch import Tensor

from benchmarks.harness import Table, best_times, milliseconds
from fairground.evaluation import evaluate
from fairground.losses import SmoothApLoss
from fairground.regularisers import ThresholdConsistentMarginRegulariser

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from pytorch_metric_learning import losses

DIMENSION, N_ROWS = 128, 2000


def tables() -> Iterator[Table]:
    """Yield the table of times."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield Table(
            title="Since 2020, against libraries that have it",
            note=f"Losses: forward and backward, {DIMENSION} dimensions. nDCG: {N_ROWS:,} x {DIMENSION} against all "
            "others, gains by three levels. float32, one thread, processor time.",
            header=["what", "peer", "fairground, ms", "peer, ms", "times faster", "difference of values"],
            rows=[
                *(_margin(size, per_class) for size, per_class in ((112, 2), (512, 4))),
                *(_smooth_ap(side) for side in (8, 16)),
                _ndcg(),
            ],
        )
    finally:
        torch.set_num_threads(threads)


def _margin(size: int, per_class: int) -> list[str]:
    regulariser, base = ThresholdConsistentMarginRegulariser(), SmoothApLoss()
    labels = torch.arange(size // per_class).repeat_interleave(per_class)

    def ours(points: Tensor) -> Tensor:
        return regulariser.penalty(points, labels, base)

    # Random points, nearer to each other than on a sphere of 128 dimensions, so that both margins are crossed.
    points = torch.randn(size, DIMENSION, generator=torch.Generator().manual_seed(0)) + 1
    theirs = losses.ThresholdConsistentMarginLoss()
    name = f"`threshold_consistent_margin`, {size} of {per_class} per class"
    return _row(name, "pytorch-metric-learning", ours, lambda points: theirs(points, labels), points)


def _smooth_ap(side: int) -> list[str]:
    loss, labels = SmoothApLoss(query_in_ranking=True), torch.arange(side).repeat_interleave(side)
    points = torch.randn(side**2, DIMENSION, generator=torch.Generator().manual_seed(0))
    theirs = losses.SmoothAPLoss(temperature=0.01)
    return _row(
        f"`smooth_ap`, {side} classes of {side}",
        "pytorch-metric-learning",
        lambda points: loss(points, labels),
        lambda points: theirs(points, labels),
        points,
    )


def _row(
    name: str, peer: str, ours: Callable[[Tensor], Tensor], theirs: Callable[[Tensor], Tensor], points: Tensor
) -> list[str]:
    points = points.requires_grad_()

    def step(value: Callable[[Tensor], Tensor]) -> Callable[[], None]:
        def run() -> None:
            points.grad = None
            value(points).backward()  # type: ignore[no-untyped-call]

        return run

    wide = points.detach().double()
    apart = abs(float(ours(wide)) - float(theirs(wide)))
    return _cells(name, peer, best_times({"ours": step(ours), "theirs": step(theirs)}, clock=time.process_time), apart)


def _ndcg() -> list[str]:
    draw = np.random.default_rng(0)
    classes = draw.integers(40, size=N_ROWS)
    levels = np.column_stack([classes, classes // 4, classes // 20])
    rows = draw.normal(size=(40, DIMENSION))[classes] + 2 * draw.normal(size=(N_ROWS, DIMENSION))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    off_diagonal = ~np.eye(N_ROWS, dtype=bool)

    def ours() -> float:
        return evaluate(rows, levels, ["ndcg"], relevance="levels", threads=1)["ndcg"]

    def theirs() -> float:
        shared = sum((column[:, None] == column).astype(np.int64) for column in levels.T)
        gains, scores = (side[off_diagonal].reshape(N_ROWS, -1) for side in (2.0**shared - 1, rows @ rows.T))
        return float(ndcg_score(gains, scores, ignore_ties=True))

    times = best_times({"ours": ours, "theirs": theirs}, turns=3, clock=time.process_time)
    return _cells("nDCG by levels", "scikit-learn", times, abs(ours() - theirs()))


def _cells(name: str, peer: str, times: dict[str, float], apart: float) -> list[str]:
    ratio = times["theirs"] / times["ours"]
    return [name, peer, milliseconds(times["ours"]), milliseconds(times["theirs"]), f"{ratio:.1f}x", f"{apart:.0e}"]
