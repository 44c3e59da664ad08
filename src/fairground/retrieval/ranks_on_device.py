"""The counting of `ranks`, in torch, for embeddings on another device.

Scores of a block of queries are made in one product, so that thresholds and what they are compared with are the same
numbers. The rules are the same: higher score first, equal scores by number, excluded pairs nowhere.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from fairground.retrieval import Ranked, Relevant, ScoreBonus

#: scores held at once, and comparisons made at once
N_SCORES = 2**24


class DeviceSearchPlan(NamedTuple):
    """Queries (m, d) in search order and distinct references (u, d) on one device; the rest as in `SearchPlan`.

    `kind` (n,) says which distinct row each reference in search order is.
    """

    queries: torch.Tensor
    references: torch.Tensor
    kind: torch.Tensor
    numbers: torch.Tensor
    own: torch.Tensor
    half_lengths: torch.Tensor | None = None
    groups: tuple[torch.Tensor, torch.Tensor] | None = None
    bonus: ScoreBonus | None = None

    def scores(self, start: int, stop: int) -> torch.Tensor:
        scores = self.queries[start:stop] @ self.references.T
        if self.half_lengths is not None:
            scores -= self.half_lengths
        scores = scores[:, self.kind]
        if self.bonus is not None:
            some = self.bonus[start:stop].tocoo()
            where, values = torch.from_numpy(np.array(some.coords)), torch.from_numpy(some.data)
            scores.index_put_(tuple(where.to(scores.device)), values.to(scores), accumulate=True)
        here = (self.own[start:stop] >= 0).nonzero()[:, 0]
        scores[here, self.own[start:stop][here]] = -torch.inf
        if self.groups is not None:
            scores.masked_fill_(self.groups[0][start:stop, None] == self.groups[1], -torch.inf)
        return scores


@cache
def has_float64(device: torch.device) -> bool:
    """Metal has none."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (TypeError, RuntimeError):
        return False
    return True


def rank_on_device(plan: DeviceSearchPlan, relevant: Relevant) -> Ranked:
    offsets = relevant.offsets
    n_queries = len(offsets) - 1
    step = max(1, N_SCORES // len(plan.kind))
    ranks, scores = [np.empty(0, np.int32)], [np.empty(0, np.float32)]
    grades = None if relevant.grades is None else relevant.grades.copy()
    for begin in range(0, n_queries, step):
        end = min(begin + step, n_queries)
        tile = plan.scores(relevant.start + begin, relevant.start + end)
        query = np.repeat(np.arange(end - begin), np.diff(offsets[begin : end + 1]))
        where = relevant.where[offsets[begin] : offsets[end]]
        rank, score = _places(plan, tile, query, where)
        order = np.lexsort((rank, query))
        ranks.append(rank[order])
        scores.append(score[order])
        if grades is not None:
            here = slice(offsets[begin], offsets[end])
            grades[here] = grades[here][order]
    return Ranked(relevant.start, offsets, np.concatenate(ranks), np.concatenate(scores[1:] or scores), grades)


def _places(
    plan: DeviceSearchPlan, tile: torch.Tensor, query: np.ndarray, where: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    rows = torch.as_tensor(query, device=tile.device, dtype=torch.long)
    columns = torch.as_tensor(where, device=tile.device, dtype=torch.long)
    threshold = tile[rows, columns]
    counts = [torch.empty(0, dtype=torch.long, device=tile.device)]
    step = max(1, N_SCORES // tile.shape[1])
    for some in (slice(begin, begin + step) for begin in range(0, len(rows), step)):
        theirs, mine, number = tile[rows[some]], threshold[some, None], plan.numbers[columns[some], None]
        above = (theirs > mine) | ((theirs == mine) & (plan.numbers < number))
        counts.append(above.sum(1))
    ranks = 1 + torch.cat(counts)
    return ranks.cpu().numpy().astype(np.int32), threshold.cpu().numpy()


def nearest_on_device(plan: DeviceSearchPlan, k: int, lowest: np.ndarray | None = None) -> np.ndarray:
    """Return the numbers (n_queries, k) of the nearest references, as `neighbours.nearest` does."""
    # Columns by number: a stable sort then leaves equal scores in that order.
    by_number, step, found = plan.numbers.argsort(), max(1, N_SCORES // len(plan.kind)), []
    for begin in range(0, len(plan.queries), step):
        scores, place = plan.scores(begin, begin + step)[:, by_number].sort(dim=1, descending=True, stable=True)
        if lowest is not None:
            least = scores.masked_fill(scores == -torch.inf, torch.inf).amin(1)
            lowest[begin : begin + step] = np.minimum(lowest[begin : begin + step], least.cpu().numpy())
        numbers = plan.numbers[by_number][place[:, :k]].masked_fill(scores[:, :k] == -torch.inf, -1)
        found.append(torch.nn.functional.pad(numbers, (0, k - numbers.shape[1]), value=-1))
    return torch.cat(found).cpu().numpy().astype(np.int32)
