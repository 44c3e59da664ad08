"""k-means (Lloyd) at data-set scale: exact assignments by tiles of products, the same for any number of threads.

A point whose own centroid stood still can only change to one that moved, so a round compares such points with the moved
centroids alone. A centroid left without points moves to the point farthest from its own.
"""

from functools import partial
from typing import NamedTuple

import numba
import numpy as np
import torch

from fairground.retrieval import N_SCORES, edge_for, has_float64, require, share_out, share_stretches

ROUNDS = 20


class Clusters(NamedTuple):
    """`assignment` (n,) of points to `centroids` (k, d); `inertia` is the sum of squared distances to them."""

    assignment: np.ndarray
    centroids: np.ndarray
    inertia: float
    n_rounds: int


def kmeans(
    points: np.ndarray,
    n_clusters: int,
    *,
    generator: torch.Generator,
    rounds: int = ROUNDS,
    threads: int = 1,
    device: torch.device | None = None,
) -> Clusters:
    """Cluster `points` (n, d) from `n_clusters` points drawn at random, in at most `rounds` rounds.

    With a `device`, products and means are computed there, in the precision of the points.
    """
    n = len(points)
    require(1 <= n_clusters <= n, f"n_clusters must be in 1..{n}, the number of points; got {n_clusters}")
    centroids = points[torch.randperm(n, generator=generator)[:n_clusters].numpy()]
    is_there = device is not None and (points.dtype == np.float32 or has_float64(device))
    state = _StateOnDevice(points, centroids, device) if is_there else _State(points, centroids, threads)
    done = 0
    for done in range(1, rounds + 1):  # noqa: B007
        if not state.assign() or not state.move():
            break
    state.assign()
    return Clusters(state.assignment, state.centroids, float(state.squared_distances().sum()), done)


class _State:
    """Points, centroids and assignments between rounds."""

    def __init__(self, points: np.ndarray, centroids: np.ndarray, threads: int) -> None:
        self.points, self.centroids, self.threads = points, centroids, threads
        self.edge = edge_for(len(points), len(centroids))
        self.assignment = np.full(len(points), -1, np.int32)
        self.best = np.full(len(points), -np.inf, points.dtype)
        self.has_moved = np.ones(len(centroids), bool)

    def assign(self) -> bool:
        """Assign every point to its nearest centroid; return whether anything changed."""
        before = self.assignment.copy()
        has_lost = (before < 0) | self.has_moved[before]
        self.best[has_lost] = -np.inf
        self._compare(np.flatnonzero(has_lost), np.arange(len(self.centroids)))
        self._compare(np.flatnonzero(~has_lost), np.flatnonzero(self.has_moved))
        self.has_moved[:] = False
        return bool((before != self.assignment).any())

    def _compare(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        if len(rows) == 0 or len(chosen) == 0:
            return
        edge = self.edge
        blocks = [chosen[begin : begin + edge] for begin in range(0, len(chosen), edge)]
        tiles = [_padded(self.centroids[block], edge) for block in blocks]
        halves = [np.einsum("ij,ij->i", tile, tile) / 2 for tile in tiles]
        numbers = [block.astype(np.int32) for block in blocks]

        def work(begin: int, product: np.ndarray) -> None:
            mine = rows[begin : begin + edge]
            left = _padded(self.points[mine], edge)
            for tile, half, number in zip(tiles, halves, numbers, strict=True):
                np.matmul(left, tile.T, out=product)
                scores = product[: len(mine), : len(number)]
                scores -= half[: len(number)]
                at = scores.argmax(1)
                self._take(mine, scores[np.arange(len(mine)), at], number[at])

        share_out(range(0, len(rows), edge), lambda: np.empty((edge, edge), self.points.dtype), work, self.threads)

    def _take(self, rows: np.ndarray, scores: np.ndarray, numbers: np.ndarray) -> None:
        """Assign rows to centroids that score higher than theirs; of equal scores the lowest number wins."""
        best, nearest = self.best[rows], self.assignment[rows]
        is_nearer = (scores > best) | ((scores == best) & (numbers < nearest))
        self.best[rows] = np.where(is_nearer, scores, best)
        self.assignment[rows] = np.where(is_nearer, numbers, nearest)

    def move(self) -> bool:
        """Move centroids to the mean of their points; return whether any moved."""
        sizes = np.bincount(self.assignment, minlength=len(self.centroids))
        if (sizes == 0).any():
            self._fill(np.flatnonzero(sizes == 0), sizes)
        new = self._means(sizes)
        self.has_moved = (new != self.centroids).any(1)
        self.centroids = new
        return bool(self.has_moved.any())

    def _means(self, sizes: np.ndarray) -> np.ndarray:
        order = np.argsort(self.assignment, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        new = np.empty_like(self.centroids)
        share_stretches(len(new), 256, partial(average, self.points, order, offsets, new), self.threads)
        return new

    def _fill(self, empty: np.ndarray, sizes: np.ndarray) -> None:
        """Give each empty cluster the farthest point of a cluster that can spare one."""
        for row in np.argsort(-self.squared_distances(), kind="stable"):
            if len(empty) == 0:
                return
            if sizes[self.assignment[row]] > 1:
                sizes[self.assignment[row]] -= 1
                self.assignment[row], sizes[empty[0]] = empty[0], 1
                empty = empty[1:]

    def squared_distances(self) -> np.ndarray:
        out = np.empty(len(self.points))

        def work(begin: int, end: int) -> None:
            gap = self.points[begin:end].astype(np.float64) - self.centroids[self.assignment[begin:end]]
            out[begin:end] = np.einsum("ij,ij->i", gap, gap)

        share_stretches(len(out), 4096, work, self.threads)
        return out


class _StateOnDevice(_State):
    """The same with products on a device; what was assigned is in main memory."""

    def __init__(self, points: np.ndarray, centroids: np.ndarray, device: torch.device | None) -> None:
        super().__init__(points, centroids, 1)
        self._points = torch.as_tensor(points, device=device)

    def _compare(self, rows: np.ndarray, chosen: np.ndarray) -> None:
        device, step = self._points.device, max(1, N_SCORES // max(1, len(chosen)))
        centroids = torch.as_tensor(self.centroids[chosen], device=device)
        halves = centroids.square().sum(1) / 2
        for some in (rows[begin : begin + step] for begin in range(0, len(rows) if len(chosen) else 0, step)):
            scores = self._points[torch.as_tensor(some, device=device)] @ centroids.T - halves
            highest, at = (found.cpu().numpy() for found in scores.max(1))
            self._take(some, highest, chosen[at].astype(np.int32))

    def _means(self, sizes: np.ndarray) -> np.ndarray:
        """Return the means by products with 0 and 1, which are added in one order; `index_add` has none."""
        total = torch.zeros_like(torch.as_tensor(self.centroids, device=self._points.device))
        step, numbers = max(1, N_SCORES // len(total)), torch.arange(len(total), device=total.device)
        for begin in range(0, len(self.assignment), step):
            cluster = torch.as_tensor(self.assignment[begin : begin + step], device=total.device)
            total += (numbers[:, None] == cluster).to(total.dtype) @ self._points[begin : begin + step]
        return total.cpu().numpy() / sizes[:, None].astype(self.centroids.dtype)


def _padded(rows: np.ndarray, edge: int) -> np.ndarray:
    block = np.zeros((edge, rows.shape[1]), rows.dtype)
    block[: len(rows)] = rows
    return block


@numba.njit(nogil=True, cache=True)
def average(points: np.ndarray, order: np.ndarray, offsets: np.ndarray, out: np.ndarray, start: int, stop: int) -> None:
    """Write the mean of each cluster's points, summed in float64 in the order of the points."""
    total = np.empty(points.shape[1])
    for cluster in range(start, stop):
        for axis in range(len(total)):
            total[axis] = 0.0
        for k in range(offsets[cluster], offsets[cluster + 1]):
            for axis in range(len(total)):
                total[axis] += points[order[k], axis]
        for axis in range(len(total)):
            out[cluster, axis] = total[axis] / (offsets[cluster + 1] - offsets[cluster])
