"""The k nearest references of every query, and its best scores inside and outside its class: exact.

Equal scores are in the order of the references' numbers.
"""

import numba
import numpy as np

from fairground.retrieval import SearchPlan, TileWorker, share_out


def nearest(plan: SearchPlan, k: int, *, threads: int, lowest: np.ndarray | None = None) -> np.ndarray:
    """Return the numbers (n_queries, k) of the nearest references, nearest first; -1 where there are fewer than k.

    `lowest` (n_queries,), infinite at first, is lowered to each query's lowest score.
    """
    n = plan.queries.n
    numbers = np.full((n, k), -1, np.int32)
    best = np.full((n, k), -np.inf, plan.queries.dtype)

    def work(row: int, worker: TileWorker) -> None:
        for rows, columns, scores in plan.row_scores(row, worker):
            index = plan.references.index[columns]
            take_nearest(scores, index, best[rows], numbers[rows])
            if lowest is not None:
                take_lowest(scores, len(index), lowest[rows])

    share_out(range(plan.queries.n_tiles), plan.worker, work, threads)
    return numbers


def best_by_class(
    plan: SearchPlan, query_classes: np.ndarray, reference_classes: np.ndarray, *, threads: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return every query's best score in its class and outside, in the plan's order; minus infinity where none is."""
    own = np.full(plan.queries.n, -np.inf, plan.queries.dtype)
    other = own.copy()

    def work(row: int, worker: TileWorker) -> None:
        for rows, columns, scores in plan.row_scores(row, worker):
            take_best(scores, query_classes[rows], reference_classes[columns], own[rows], other[rows])

    share_out(range(plan.queries.n_tiles), plan.worker, work, threads)
    return own, other


@numba.njit(nogil=True, cache=True)
def take_nearest(scores: np.ndarray, index: np.ndarray, best: np.ndarray, numbers: np.ndarray) -> None:
    """Insert a tile's scores into each query's list of the nearest so far."""
    k = best.shape[1]
    for i in range(best.shape[0]):
        for j in range(len(index)):
            score, number = scores[i, j], index[j]
            last = best[i, k - 1]
            if score < last or score == -np.inf or (score == last and number > numbers[i, k - 1] >= 0):
                continue
            at = k - 1
            while at > 0 and (best[i, at - 1] < score or (best[i, at - 1] == score and numbers[i, at - 1] > number)):
                best[i, at], numbers[i, at] = best[i, at - 1], numbers[i, at - 1]
                at -= 1
            best[i, at], numbers[i, at] = score, number


@numba.njit(nogil=True, cache=True)
def take_lowest(scores: np.ndarray, n: int, lowest: np.ndarray) -> None:
    for i in range(len(lowest)):
        for j in range(n):
            if -np.inf < scores[i, j] < lowest[i]:
                lowest[i] = scores[i, j]


@numba.njit(nogil=True, cache=True)
def take_best(scores: np.ndarray, mine: np.ndarray, theirs: np.ndarray, own: np.ndarray, other: np.ndarray) -> None:
    for i in range(len(mine)):
        for j in range(len(theirs)):
            if theirs[j] == mine[i]:
                own[i] = max(own[i], scores[i, j])
            else:
                other[i] = max(other[i], scores[i, j])
