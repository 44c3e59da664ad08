"""The best score of every query among references of its own class, and among those of all other classes: exact."""

from typing import NamedTuple

import numba
import numpy as np

from fairground.retrieval.search_plan import SearchPlan, TileWorker
from fairground.retrieval.threads import share_out


class BestScores(NamedTuple):
    """Scores (n_queries,) in the plan's order; minus infinity where there is no such reference."""

    own: np.ndarray
    other: np.ndarray


def best_by_class(
    plan: SearchPlan, query_classes: np.ndarray, reference_classes: np.ndarray, *, threads: int
) -> BestScores:
    """Return both best scores; classes are given in the plan's order of queries and of references."""
    own = np.full(plan.queries.n, -np.inf, plan.queries.dtype)
    other = own.copy()

    def work(row: int, workspace: TileWorker) -> None:
        rows = slice(row * plan.edge, row * plan.edge + plan.queries.length(row))
        for column in range(plan.references.n_tiles):
            plan.multiply(*plan.canonical(row, column), workspace.product)
            scores = plan.scores(row, column, workspace.product, workspace)
            columns = reference_classes[column * plan.edge : (column + 1) * plan.edge]
            take_best(scores, query_classes[rows], columns, own[rows], other[rows])

    share_out(range(plan.queries.n_tiles), plan.workspace, work, threads)
    return BestScores(own, other)


@numba.njit(nogil=True, cache=True)
def take_best(scores: np.ndarray, mine: np.ndarray, theirs: np.ndarray, own: np.ndarray, other: np.ndarray) -> None:
    """Raise each query's best scores by those of a tile."""
    for i in range(len(mine)):
        for j in range(len(theirs)):
            if theirs[j] == mine[i]:
                own[i] = max(own[i], scores[i, j])
            else:
                other[i] = max(other[i], scores[i, j])
