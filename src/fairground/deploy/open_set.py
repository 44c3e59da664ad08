"""Is it in this collection? What the rows of an index say when each is put as a query of a known and an unknown class.

A row of a class the model was not trained on is searched for twice: among all other rows, when its class is known, and
among the rows of other classes, when it is not. The first gives the rate of right answers, the second the conformal
p-value of "unknown" at the size of this very index.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fairground.deploy.conformal import ClassConformal, class_mean
from fairground.deploy.index import Index
from fairground.deploy.live_rows import LiveRows
from fairground.deploy.search import Forbid, search
from fairground.deploy.voting import VOTERS, vote
from fairground.errors import DataError, FairgroundError, require
from fairground.evaluation.bootstrap import Bootstrap, BootstrapInterval
from fairground.records.arrays import array_names, read_arrays, write_arrays

#: rows put as queries, at most
ROWS = 4000
#: comparisons from which on the trials are kept in the folder
_KEPT = 50_000_000
_FILE = "open_set.npz"
_QUERIES = 256
Tell = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class OpenSetTrials:
    """Rows of an index put as queries; `known`, `is_right` and `votes` only mean something where `has_own`.

    `unknown` (n,) are the best similarities to rows of other classes, `known` those to any other row, `votes` how many
    of the nearest rows have the class voted for, `is_right` whether that is the row's own class.
    """

    classes: np.ndarray
    unknown: np.ndarray
    known: np.ndarray
    votes: np.ndarray
    is_right: np.ndarray
    has_own: np.ndarray
    n_indexed: int

    @cached_property
    def conformal(self) -> ClassConformal:
        """The conformal p-values of unknown classes."""
        return ClassConformal(scores=self.unknown, classes=self.classes, n_indexed=self.n_indexed)

    def identified(self, threshold: float) -> tuple[float, BootstrapInterval] | None:
        """Return the share of known queries that get their class at a threshold, with its interval over classes."""
        if not self.has_own.any():
            return None
        found = (self.is_right & (self.known >= threshold))[self.has_own].astype(np.float64)
        classes = self.classes[self.has_own]
        return class_mean(found, classes), Bootstrap().of_mean(found, classes, over_classes=True)

    def right_share(self, threshold: float, votes: int) -> float | None:
        """Return how often an answer with so many votes is right when the class is known; one of each is added."""
        alike = self.has_own & (self.known >= threshold) & (self.votes == votes)
        if not alike.any():
            return None
        return float((self.is_right[alike].sum() + 1) / (alike.sum() + 2))

    def unknown_confidence(self, score: float) -> float | None:
        """Return how often "unknown" is right at a score so low or lower, of as many known as unknown queries.

        Below everything that was measured it is what it is at the lowest score measured.
        """
        if not self.has_own.any():
            return None
        score = max(score, min(float(self.unknown.min()), float(self.known[self.has_own].min())))
        unknown = class_mean((self.unknown <= score).astype(np.float64), self.classes)
        known = class_mean((self.known <= score)[self.has_own].astype(np.float64), self.classes[self.has_own])
        return unknown / (unknown + known)


def untrained_classes(index: Index) -> np.ndarray:
    """Return the numbers of the index's classes whose names are not among those the model was trained on."""
    trained = set(index.model.metadata.classes)
    labels = np.unique(np.asarray(index.labels if index.labels is not None else [], np.int64))
    return np.array([label for label in labels if index.class_names[label] not in trained], np.int64)


def trials_of(index: Index, tell: Tell = lambda *_: None) -> OpenSetTrials:
    """Return the trials of an index with labels; those of a large one are kept in its folder."""
    require(index.labels is not None, "the rows of this index have no classes, so none can be left out", DataError)
    labels = np.asarray(index.labels, np.int64)
    rows = spread_rows(labels, untrained_classes(index))
    require(len(rows) > 0, "the model was trained on every class of this index, so none can stand for an unknown one")
    require(len(np.unique(labels)) >= 2, "an index of one class has no other class to take a query for")
    key = _key(index)
    kept = _read(index.folder / _FILE, key)
    if kept is not None:
        return kept
    trials = open_set_trials(index.embeddings, labels, rows, is_raw=index.manifest.is_raw, tell=tell)
    if len(rows) * len(labels) >= _KEPT:
        _write(index.folder / _FILE, key, trials)
    return trials


def open_set_trials(
    embeddings: np.ndarray | LiveRows,
    labels: np.ndarray,
    rows: np.ndarray,
    *,
    is_raw: bool = False,
    tell: Tell = lambda *_: None,
) -> OpenSetTrials:
    """Return what `rows` of an index (n, d) score as queries; raw ones compare by Euclidean distance."""
    queries = np.ascontiguousarray(embeddings[rows], np.float32)
    unknown, known = np.empty(len(rows)), np.empty(len(rows))
    nearest = np.full((len(rows), VOTERS), -1, np.int64)
    for begin in range(0, len(rows), _QUERIES):
        some = slice(begin, begin + _QUERIES)
        own = labels[rows[some]]
        others = search(queries[some], embeddings, 1, is_raw=is_raw, forbid=_same_class(own, labels))
        unknown[some] = others.similarities[:, 0]
        found = search(queries[some], embeddings, VOTERS + 1, is_raw=is_raw)
        # A row is left out of its own neighbours by its number: another may be as similar.
        is_other = found.numbers != rows[some, None]
        order = np.argsort(~is_other, axis=1, kind="stable")[:, :VOTERS]
        numbers = np.take_along_axis(found.numbers, order, 1)
        width = min(VOTERS, len(labels) - 1)
        nearest[some, :width] = labels[numbers[:, :width]]
        known[some] = np.take_along_axis(found.similarities, order[:, :1], 1)[:, 0]
        tell(min(begin + _QUERIES, len(rows)), len(rows))
    voted = vote(nearest)
    classes = labels[rows]
    return OpenSetTrials(
        classes=classes,
        unknown=unknown,
        known=known,
        votes=voted.counts,
        is_right=voted.classes == classes,
        has_own=np.bincount(labels)[classes] > 1,
        n_indexed=len(np.unique(labels)),
    )


def _same_class(own: np.ndarray, labels: np.ndarray) -> Forbid:
    """Return which rows are of the class of each query."""
    return lambda queries, rows: own[queries, None] == labels[rows]


def spread_rows(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return at most `ROWS` rows, as many of every class, spread over its rows; of so many classes at most."""
    chosen = classes if len(classes) <= ROWS else classes[np.linspace(0, len(classes) - 1, ROWS).astype(np.int64)]
    each = max(1, ROWS // max(1, len(chosen)))
    order = np.argsort(labels, kind="stable")
    begins = np.searchsorted(labels[order], chosen, side="left")
    ends = np.searchsorted(labels[order], chosen, side="right")
    found = [
        order[begin + np.unique(np.linspace(0, end - begin - 1, min(each, end - begin)).astype(np.int64))]
        for begin, end in zip(begins, ends, strict=True)
    ]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def _key(index: Index) -> str:
    """Return a hash that changes with the rows, their classes or the model."""
    some = np.linspace(0, len(index) - 1, min(len(index), 256)).astype(np.int64)
    digest = hashlib.sha256(index.model.metadata.weights_sha256.encode())
    digest.update(np.ascontiguousarray(index.embeddings[some]).tobytes())
    digest.update(np.asarray(index.labels, np.int64).tobytes())
    digest.update("\n".join((*index.class_names, *index.model.metadata.classes)).encode())
    digest.update(str(index.manifest).encode())
    return digest.hexdigest()


def _read(path: Path, key: str) -> OpenSetTrials | None:
    """Return the trials that were kept for this very index; whatever else lies there is made anew."""
    try:
        names = array_names(path) if path.is_file() else []
        held = read_arrays(path, names)
        if not names or str(held.pop("key")) != key:
            return None
        return OpenSetTrials(**{**held, "n_indexed": int(held["n_indexed"])})  # type: ignore[arg-type]
    except (FairgroundError, KeyError, TypeError, ValueError):
        return None


def _write(path: Path, key: str, trials: OpenSetTrials) -> None:
    names = ("classes", "unknown", "known", "votes", "is_right", "has_own")
    arrays = {name: np.asarray(getattr(trials, name)) for name in names}
    try:
        write_arrays(path, {**arrays, "n_indexed": np.array(trials.n_indexed), "key": np.array(key)})
    except OSError:
        # An index may lie where nothing can be written: its trials are then made anew each time.
        return
