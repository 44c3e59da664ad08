"""How the pairs of every class stand at thresholds that are chosen by the impostor pairs of all classes."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from fairground import evaluation
from fairground.retrieval import DataError, normalise_rows, require

#: equidistant distances, from 0 to the largest possible, among which a threshold of all classes is found
STEPS = 10_000
#: rows whose pairs are held at once
EDGE = 1024


class PairsByClass:
    """The pairs of one set of embeddings, in blocks of bounded size."""

    def __init__(self, view: "evaluation.EmbeddingView") -> None:
        # As for clusters, all rows count, whichever of them are queries.
        require(view.references is None, "opis compares the pairs of one set: it takes no references")
        self._view, self._classes = view, view.row_classes
        self._starts = range(0, len(self._classes), EDGE)
        self._groups = np.arange(view.n_rows) if view.groups is None else view.groups[1]
        sizes, groups = np.bincount(self._classes), np.bincount(self._groups)
        cells, shared = np.unique(self._classes * len(groups) + self._groups, return_counts=True)
        own, group = cells // len(groups), cells % len(groups)
        left_out = np.bincount(own, shared * (shared - 1) / 2, len(sizes))
        self.n_genuine = sizes * (sizes - 1) / 2 - left_out
        left_out = np.bincount(own, shared * (groups[group] - shared), len(sizes))
        self.n_impostors = sizes * (len(self._classes) - sizes) - left_out
        is_enough = bool((self.n_genuine > 0).any() and (self.n_impostors > 0).any())
        require(is_enough, "opis needs two classes, and two rows of one of them", DataError)
        #: the `PairShares` of a metric, computed once
        self.shares = cache(self._shares)

    def _thresholds(self, *rates: float) -> np.ndarray:
        """Return the largest distance of the grid at which a share of impostor pairs passes, for each rate."""
        # A pair is at most as far as both are from the origin together.
        origin = np.zeros((1, self._view.embeddings.shape[1]))
        top = 2 * max(float(self._distances(rows, origin).max()) for rows in map(self._rows, self._starts))
        passing = np.zeros(STEPS + 1, np.int64)
        for distances, left, right in self._blocks():
            is_impostor = (left[:, None] != right) & np.isfinite(distances)
            # Rounding may lift a distance beyond the largest possible one.
            steps = np.ceil(distances[is_impostor] * (STEPS / max(top, 1e-300)))
            passing += np.bincount(np.minimum(steps, STEPS).astype(np.int64), minlength=STEPS + 1)
        reached = np.cumsum(passing)
        places = np.searchsorted(reached, np.array(rates) * reached[-1], side="right") - 1
        return np.asarray(np.maximum(places, 0) * (top / STEPS))

    def _shares(self, low_far: float, high_far: float, n: int) -> tuple[np.ndarray, np.ndarray]:
        low, high = self._thresholds(low_far, high_far)
        thresholds, n_classes = np.linspace(low, high, n), len(self.n_genuine)
        genuine, impostors = np.zeros((2, n_classes * n))
        for distances, *sides in self._blocks():
            near = np.nonzero(distances <= thresholds[-1])
            left, right = (classes[place] for classes, place in zip(sides, near, strict=True))
            places = np.searchsorted(thresholds, distances[near])
            is_own = left == right
            genuine += np.bincount(left[is_own] * n + places[is_own], minlength=n_classes * n)
            for ends in (left, right):
                impostors += np.bincount(ends[~is_own] * n + places[~is_own], minlength=n_classes * n)
        is_known = self.n_genuine > 0
        accepted = genuine.reshape(n_classes, n)[is_known].cumsum(1) / self.n_genuine[is_known, None]
        passed = impostors.reshape(n_classes, n)[is_known].cumsum(1) / np.maximum(self.n_impostors[is_known, None], 1)
        return accepted, 1 - passed

    def _rows(self, start: int) -> np.ndarray:
        rows = self._view.rows(np.arange(start, min(start + EDGE, len(self._classes))))
        if self._view.ball is not None:
            self._view.ball.place(rows)
        elif not self._view.is_raw:
            normalise_rows(rows)
        return rows

    def _distances(self, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        if self._view.ball is not None:
            return self._view.ball.distances(mine, theirs)
        halves = (np.einsum("ij,ij->i", rows, rows) / 2 for rows in (mine, theirs))
        return np.asarray(np.sqrt(np.maximum(2 * (np.add.outer(*halves) - mine @ theirs.T), 0)))

    def _blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield distances (r, c) of rows and columns with their classes; infinite where a pair is counted elsewhere."""
        for i in self._starts:
            mine = self._rows(i)
            for j in range(i, len(self._classes), EDGE):
                theirs = mine if i == j else self._rows(j)
                distances = self._distances(mine, theirs)
                distances[self._groups[i : i + EDGE, None] == self._groups[j : j + EDGE]] = np.inf
                if i == j:
                    distances[np.tril_indices(len(mine))] = np.inf
                yield distances, self._classes[i : i + EDGE], self._classes[j : j + EDGE]
