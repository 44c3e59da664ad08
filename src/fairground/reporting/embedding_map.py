"""Maps of the test embeddings of a run per method: two principal axes, with the pictures of its gallery.

Formula
    centre the unit embeddings, project on the two right singular vectors with the largest values

Limits
    A map has two axes of many: neighbours on it may be far apart in the space. It states its share of the variance.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from fairground.records import DataError, RunFolder
from fairground.reporting import N_SERIES, FigureInputs, arrays_in, leave_out, shorten

_MOST_MAPS = 4
MOST_POINTS = 600
#: rows the axes of a map are computed from
_MOST_FITTED = 4000


class Point(NamedTuple):
    """One image: its place in [0, 1] x [0, 1], its class, and its row in the data set."""

    x: float
    y: float
    klass: int
    row: int

    @property
    def colour(self) -> int:
        """Which colour its class has; classes share colours when they are many."""
        return self.klass % N_SERIES


class EmbeddingMap(NamedTuple):
    """The map of one run; `names` are those of its classes as far as they are known, `share` the variance it shows."""

    label: str
    run: str
    points: tuple[Point, ...]
    names: dict[int, str]
    share: float
    n_images: int

    @property
    def n_classes(self) -> int:
        return len({point.klass for point in self.points})


def maps_of(inputs: FigureInputs) -> list[EmbeddingMap]:
    """Return the map of the first run of each leading method that kept its embeddings."""
    kept, folders = inputs.runs.files("embeddings.npz"), inputs.runs.folders
    first = (
        next(filter(None, (_map(method.label, folders[run.name]) for run in method.done if run.name in kept)), None)
        for method in inputs.methods
    )
    return list(islice(filter(None, first), _MOST_MAPS))


def _map(label: str, folder: RunFolder) -> EmbeddingMap | None:
    arrays = arrays_in(folder.embeddings, ["embeddings", "labels", "rows"])
    if arrays is None:
        return None
    vectors, labels, rows = arrays
    if not np.isfinite(vectors).all():
        leave_out(DataError(f"{folder.embeddings} holds numbers that are not finite"))
        return None
    pictured, names = _pictured(folder, labels, rows)
    return map_of(label, folder.name, vectors, labels, rows, names, pictured)


def map_of(
    label: str,
    run: str,
    vectors: np.ndarray,
    labels: np.ndarray,
    rows: np.ndarray,
    names: Mapping[int, str],
    pictured: Sequence[int] = (),
) -> EmbeddingMap | None:
    """Return the map of embeddings; `pictured` are those that have a picture. None where there is nothing to map."""
    if vectors.shape[1] < 2 or len(vectors) < 3:
        return None
    on_top = np.array(pictured, dtype=int)
    plain = np.setdiff1d(_evenly(len(vectors), MOST_POINTS), on_top)
    # Points with a picture last: they are on top and can be pointed at.
    chosen = np.concatenate([plain, on_top])
    places, share = _axes(vectors, chosen)
    points = tuple(map(Point, *places.T.tolist(), labels[chosen].tolist(), rows[chosen].tolist()))
    shown = {point.klass for point in points}
    return EmbeddingMap(
        label=label,
        run=run,
        points=points,
        names={klass: name for klass, name in names.items() if klass in shown},
        share=share,
        n_images=len(vectors),
    )


def _evenly(n: int, most: int) -> np.ndarray:
    return np.linspace(0, n - 1, min(n, most)).astype(int)


def _pictured(folder: RunFolder, labels: np.ndarray, rows: np.ndarray) -> tuple[list[int], dict[int, str]]:
    """Return which embeddings have a picture in the gallery, and the class names the gallery knows."""
    place = {row: i for i, row in enumerate(rows.tolist())}
    arrays = arrays_in(folder.gallery, ["rows", "labels"]) or (np.zeros(0), np.zeros(0))
    shown = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    known = {place[row]: shorten(str(name), 60) for row, name in shown if row in place}
    names = {int(labels[i]): name for i, name in known.items()}
    for every in arrays_in(folder.gallery, ["class_names"]) or ():
        present = [label for label in np.unique(labels).tolist() if 0 <= label < len(every)]
        names |= {label: shorten(str(every[label]), 60) for label in present}
    return list(known), names


def _axes(vectors: np.ndarray, chosen: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the chosen rows' places in the unit square, and the share of variance the two axes carry."""
    both = (vectors[rows].astype(np.float64) for rows in (_evenly(len(vectors), _MOST_FITTED), chosen))
    fitted, shown = (some / np.maximum(np.linalg.norm(some, axis=1, keepdims=True), 1e-12) for some in both)
    centre = fitted.mean(0)
    # The small matrix has the same axes as all rows, and is much faster.
    around = fitted - centre
    if len(around) < around.shape[1]:
        # So has the matrix of the rows, smaller where they are few.
        variances, left = np.linalg.eigh(around @ around.T)
        axes = around.T @ left / np.sqrt(np.maximum(variances, 1e-300))
    else:
        variances, axes = np.linalg.eigh(around.T @ around)
    flat = (shown - centre) @ axes[:, :-3:-1]
    low, reach = flat.min(0), max(float(np.ptp(flat, axis=0).max()), 1e-12)
    # One scale for both axes, so that distances on the map can be compared; the shorter side is centred.
    places = (flat - low) / reach + (1 - np.ptp(flat, axis=0) / reach) / 2
    return places, float(variances[-2:].sum() / max(variances.sum(), 1e-300))
