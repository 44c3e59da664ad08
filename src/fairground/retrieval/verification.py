"""Where every impostor pair stands among the genuine pairs, counted exactly, one tile of pairs at a time.

Each pair finds its place among the sorted genuine similarities through a table and a short search. Genuine pairs are
counted too and taken out afterwards: their similarities come from the same products, so each is found at its own place.
"""

from typing import NamedTuple

import numba
import numpy as np

from fairground.retrieval import SearchPlan, TileWorker, share_out


class PairCounts(NamedTuple):
    """For each genuine similarity: how many pairs are exactly as similar, how many more; and how many pairs in all."""

    equal: np.ndarray
    above: np.ndarray
    n_pairs: int


def count_pairs(plan: SearchPlan, genuine: np.ndarray, *, threads: int) -> PairCounts:
    """Return how all pairs (not excluded) stand among the similarities `genuine`, ascending and without repeats."""
    rows, columns = plan.queries.n_tiles, plan.references.n_tiles
    table, scale = _table(genuine)
    # Scores of duplicates are copied along columns only: a tile and its mirror image may then differ in the last bit.
    is_half = plan.is_one_set and plan.duplicates is None
    tasks = ((row, column) for row in range(rows) for column in range(row if is_half else 0, columns))

    def work(task: tuple[int, int], worker: TileWorker) -> None:
        row, column = task
        scores = plan.fresh_scores(row, column, worker)
        scores = scores[: plan.queries.length(row), : plan.references.length(column)]
        # Within one set a tile off the diagonal stands for its mirror image too.
        place(scores, genuine, table, scale, 2 if is_half and row != column else 1, *worker.counts)

    workers = share_out(tasks, lambda: plan.worker((2, len(genuine) + 1), np.int64), work, threads)
    between, equal = np.sum([worker.counts for worker in workers], axis=0)
    n_pairs = int(between.sum() + equal.sum())
    # A pair placed beyond t is more similar than t, and so is one that equals a higher similarity.
    above = np.cumsum((between + equal)[::-1])[::-1][1:]
    return PairCounts(equal[:-1], above, n_pairs)


def _table(genuine: np.ndarray) -> tuple[np.ndarray, float]:
    """Return, for each of many equal stretches of similarity, how many genuine ones are in stretches before it.

    With it comes how many stretches one unit of similarity covers. Rounding keeps the order, so a higher stretch means
    a higher similarity.
    """
    n_entries = max(4 * len(genuine), 64)
    width = float(genuine[-1]) - float(genuine[0])
    scale = min((n_entries - 1) / width, 1e30) if width > 0 else 1.0
    stretch = np.minimum((genuine - genuine[0]) * np.float64(scale), n_entries - 1).astype(np.int64)
    return np.searchsorted(stretch, np.arange(n_entries + 1)).astype(np.uint32), scale


@numba.njit(nogil=True, cache=True)
def place(
    scores: np.ndarray,
    genuine: np.ndarray,
    table: np.ndarray,
    scale: float,
    weight: int,
    between: np.ndarray,
    equal: np.ndarray,
) -> None:
    """Count each similarity of a tile at the first genuine one that is not lower; minus infinity is skipped."""
    lowest, last = genuine[0], len(table) - 2.0
    for i in range(scores.shape[0]):
        for j in range(scores.shape[1]):
            score = scores[i, j]
            if score < lowest:
                if score > -np.inf:
                    between[0] += weight
                continue
            entry = np.uint64(np.int64(min((score - lowest) * scale, last)))
            low = np.uint64(table[entry])
            high = np.uint64(table[entry + np.uint64(1)])
            while low < high:
                middle = (low + high) >> np.uint64(1)
                if genuine[middle] < score:
                    low = middle + np.uint64(1)
                else:
                    high = middle
            if low < np.uint64(len(genuine)) and genuine[low] == score:
                equal[low] += weight
            else:
                between[low] += weight
