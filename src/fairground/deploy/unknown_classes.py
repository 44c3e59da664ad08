"""Whether the class of a query is in an index or unknown, at an error rate that is measured.

A row of a class the model was not trained on is searched for twice: among all other rows, where its class is known, and
among the rows of other classes, where it is not. The first gives the rate of right answers, the second the conformal
p-value of "unknown" at the size of this index.

Formula
    q_c(s) = share of the queries of class c that score s or more, class c taken out of the index
    p(s) = min(1, (1 + r * sum over the K classes of q_c(s)) / (K + 1)),  r = C / (C - 1)
    a query is taken for known when p(s) <= f; for f < 1 / (K + 1) none ever is

Paper
    Lee, Barber and Willett, "Distribution-free inference with hierarchical data", 2023: of K + 1 classes that could
    change places, the chance that a query of the new one has p <= f is at most f.

Departures from the paper
    The index of C classes that a class is left out of has one class fewer than the index that is searched. The chance
    that the best of a set of classes reaches a score grows at most in proportion to their number, hence r.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from fairground.deploy import MARK, TRIALS, VOTERS, DataError, FairgroundError, Index, InputError, require, search, vote
from fairground.evaluation.bootstrap import Bootstrap, BootstrapInterval
from fairground.records.arrays import array_names, read_arrays, write_arrays

#: the share of queries of unknown classes that may be given a class, by default
FPIR = 0.05
#: rows put as queries, at most
ROWS = 4000
#: comparisons from which on the trials are kept in the folder
_KEPT = 50_000_000
_QUERIES = 256
Tell = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class OpenSetTrials:
    """Rows of an index of `n_indexed` classes put as queries, each of its class in `classes` (n,).

    `unknown` (n,) are the best similarities to rows of other classes, `known` those to any other row, `votes` how many
    of the nearest rows have the class voted for, `is_right` whether that is the row's own class. The last three only
    mean something where `has_own`: where the class has another row.
    """

    classes: np.ndarray
    unknown: np.ndarray
    known: np.ndarray
    votes: np.ndarray
    is_right: np.ndarray
    has_own: np.ndarray
    n_indexed: int

    @cached_property
    def n_classes(self) -> int:
        """K, the classes that were left out one by one."""
        return len(np.unique(self.classes))

    def p_value(self, scores: np.ndarray) -> np.ndarray:
        """Return the chance at most that a query of an unknown class scores so high."""
        return np.minimum(1.0, (1 + self._sum_of_shares(scores)) / (self.n_classes + 1))

    def threshold(self, rate: float) -> float | None:
        """Return the lowest score that is taken for known at a false-positive rate; None where no score may be."""
        if rate < 1 / (self.n_classes + 1):
            return None
        scores = np.unique(self.unknown)
        refused = scores[self.p_value(scores) > rate]
        # Scores that equal the highest refused one are refused with it.
        return float(np.nextafter(refused[-1], np.inf)) if len(refused) else float(scores[0])

    def measured(self, rate: float) -> tuple[float, float, float]:
        """Return the rate at which classes pass a threshold found on all others, and its interval over classes."""
        own = np.empty(len(self.unknown))
        for label in np.unique(self.classes):
            mine = np.flatnonzero(self.classes == label)
            ascending = np.sort(self.unknown[mine])
            own[mine] = 1 - np.searchsorted(ascending, self.unknown[mine], side="left") / len(mine)
        passes = (1 + self._sum_of_shares(self.unknown, own)) / self.n_classes <= rate
        found, interval = class_mean(passes, self.classes), Bootstrap().of_mean(passes, self.classes, over_classes=True)
        if found == 0:
            # Drawing from zeros gives zeros. Of K rates in [0, 1] with mean m all are 0 with a chance of (1 - m)^K.
            return 0.0, 0.0, 1 - ((1 - interval.confidence) / 2) ** (1 / self.n_classes)
        return found, max(0.0, interval.low), interval.high

    def _sum_of_shares(self, scores: np.ndarray, own: np.ndarray | float = 0.0) -> np.ndarray:
        """Return r times the sum over classes of q_c, without the share of each score's `own` class."""
        order = np.argsort(self.unknown, kind="stable")
        _, group, sizes = np.unique(self.classes, return_inverse=True, return_counts=True)
        # From the top down: the sum of 1 / n_c over the queries that score so high.
        above = np.concatenate((np.cumsum((1 / sizes[group])[order][::-1])[::-1], [0.0]))
        r = self.n_indexed / (self.n_indexed - 1)
        return np.asarray(r * (above[np.searchsorted(self.unknown[order], scores, side="left")] - own))

    def identified(self, threshold: float) -> tuple[float, BootstrapInterval] | None:
        """Return the share of known queries that get their class at a threshold, with its interval over classes."""
        if not self.has_own.any():
            return None
        found, classes = (self.is_right & (self.known >= threshold))[self.has_own], self.classes[self.has_own]
        return class_mean(found, classes), Bootstrap().of_mean(found, classes, over_classes=True)

    def right_share(self, threshold: float, votes: int) -> float | None:
        """Return how often an answer with so many votes is right when the class is known; one of each is added."""
        alike = self.has_own & (self.known >= threshold) & (self.votes == votes)
        return float((self.is_right[alike].sum() + 1) / (alike.sum() + 2)) if alike.any() else None

    def unknown_confidence(self, score: float) -> float | None:
        """Return how often "unknown" is right at a score so low or lower, of as many known as unknown queries.

        Below everything that was measured it is what it is at the lowest score measured.
        """
        if not self.has_own.any():
            return None
        score = max(score, min(float(self.unknown.min()), float(self.known[self.has_own].min())))
        unknown = class_mean(self.unknown <= score, self.classes)
        known = class_mean((self.known <= score)[self.has_own], self.classes[self.has_own])
        return unknown / (unknown + known)


def class_mean(values: np.ndarray, classes: np.ndarray) -> float:
    """Return the mean of the means of each class."""
    _, group, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    return float(np.mean(np.bincount(group, weights=values) / sizes))


@dataclass(frozen=True, kw_only=True)
class DecisionRule:
    """The similarity from which on a query counts as a known class; `why_not` explains a missing threshold.

    `fpir` is the requested rate, None for a similarity chosen by the user or no decision.
    """

    n_rows: int
    threshold: float | None = None
    fpir: float | None = None
    trials: OpenSetTrials | None = None
    why_not: str = ""

    @cached_property
    def measured_fpir(self) -> tuple[float, float, float] | None:
        """The rate at which left-out classes pass at the requested rate, and its interval over classes."""
        return None if self.trials is None or self.fpir is None else self.trials.measured(self.fpir)

    def sentence(self) -> str:
        if self.threshold is None:
            return f"No decision between known and unknown: {self.why_not}."
        named = f"A class is named from similarity {self.threshold:.4f} on, as asked"
        if self.trials is None:
            return f"{named}. How many pictures of unknown classes pass is not known: {self.why_not}."
        if self.fpir is None or self.measured_fpir is None:
            passing = float(self.trials.p_value(np.array([self.threshold]))[0])
            promise = (
                f"{named}: at most {100 * passing:.1f} % of pictures of unknown classes pass in this index of "
                f"{self.n_rows:,} rows ({self.trials.n_classes} classes, each left out in turn)."
            )
        else:
            rate, low, high = self.measured_fpir
            promise = (
                f"At most {100 * self.fpir:g} % of pictures of unknown classes are given a class of this index of "
                f"{self.n_rows:,} rows, on average over classes of the same kind (similarity from {self.threshold:.4f} "
                f"on). Measured on {self.trials.n_classes} classes, each left out in turn: {100 * rate:.1f} % "
                f"(95 % interval {100 * low:.1f} to {100 * high:.1f} %)."
            )
        found = self.trials.identified(self.threshold)
        if found is None:
            return promise
        value, interval = found
        low, high = max(0.0, interval.low), min(1.0, interval.high)
        return (
            f"{promise} Of pictures of indexed classes {100 * value:.0f} % get their class "
            f"(95 % interval {100 * low:.0f} to {100 * high:.0f} %)."
        )


def rule_of(
    index: Index, *, fpir: float = FPIR, threshold: float | None = None, tell: Tell = lambda *_: None
) -> DecisionRule:
    """Return the rule that lets at most `fpir` of unknown queries pass, or that of a given similarity."""
    require(0 < fpir < 1, f"the share of unknown pictures that may pass must be between 0 and 1; got {fpir:g}")
    require(threshold is None or bool(np.isfinite(threshold)), f"a similarity must be a number; got {threshold}")
    try:
        trials = trials_of(index, tell)
    except (InputError, DataError) as error:
        return DecisionRule(n_rows=len(index), threshold=threshold, why_not=str(error))
    if threshold is not None:
        return DecisionRule(n_rows=len(index), threshold=threshold, trials=trials)
    found = trials.threshold(fpir)
    if found is None:
        n, lowest = trials.n_classes, 1 / (trials.n_classes + 1)
        needed = int(np.ceil(1 / fpir - 1 - 1e-9))
        return DecisionRule(
            n_rows=len(index),
            why_not=f"{n} {'class' if n == 1 else 'classes'} that the model was not trained on can promise a rate of "
            f"{100 * lowest:.1f} % at the lowest, and {100 * fpir:g} % takes {needed} classes; ask for more with "
            f"--fpir {np.ceil(1000 * lowest) / 10:g}",
        )
    return DecisionRule(n_rows=len(index), threshold=found, fpir=fpir, trials=trials)


def trials_of(index: Index, tell: Tell = lambda *_: None) -> OpenSetTrials:
    """Return the trials of an index with labels; those of a large one are kept in its folder."""
    require(index.labels is not None, "the rows of this index have no classes, so none can be left out", DataError)
    assert index.labels is not None
    labels = np.asarray(index.labels[index.ids], np.int64)
    trained = set(index.model.metadata.classes)
    untrained = [label for label in np.unique(labels).tolist() if index.info.class_names[label] not in trained]
    rows = spread_rows(labels, np.array(untrained, np.int64))
    require(len(rows) > 0, "the model was trained on every class of this index, so none can stand for an unknown one")
    require(len(np.unique(labels)) >= 2, "an index of one class has no other class to take a query for")
    key = hashlib.sha256((index.folder / MARK).read_bytes() + index.model.metadata.weights_sha256.encode()).hexdigest()
    path = index.folder / TRIALS
    # A file that is missing, damaged or of another state of the index is written again.
    with suppress(FairgroundError, KeyError, TypeError, ValueError):
        kept = read_arrays(path, array_names(path))
        if str(kept.pop("key")) == key:
            return OpenSetTrials(**{**kept, "n_indexed": int(kept["n_indexed"])})  # type: ignore[arg-type]
    is_mapped = isinstance(index.rows, np.ndarray) and len(index.removed) == 0
    embeddings = np.asarray(index.rows) if is_mapped else index.rows[index.ids]
    trials = open_set_trials(embeddings, labels, rows, is_raw=index.info.is_raw, tell=tell)
    if len(rows) * len(labels) >= _KEPT:
        # In a folder that cannot be written, trials are computed each time.
        with suppress(FairgroundError):
            write_arrays(path, {name: np.asarray(value) for name, value in {**asdict(trials), "key": key}.items()})
    return trials


def open_set_trials(
    embeddings: np.ndarray,
    labels: np.ndarray,
    rows: np.ndarray,
    *,
    is_raw: bool = False,
    tell: Tell = lambda *_: None,
) -> OpenSetTrials:
    """Return what `rows` of an index (n, d) score as queries; raw ones compare by Euclidean distance."""
    unknown, known = np.empty(len(rows)), np.empty(len(rows))
    nearest = np.full((len(rows), VOTERS), -1, np.int64)
    for begin in range(0, len(rows), _QUERIES):
        some = slice(begin, begin + _QUERIES)
        queries, own = embeddings[rows[some]], labels[rows[some]]

        def of_same_class(numbers: slice, others: slice, own: np.ndarray = own) -> np.ndarray:
            return np.asarray(own[numbers, None] == labels[others])

        strangers = search(queries, embeddings, 1, is_raw=is_raw, forbid=of_same_class)
        unknown[some] = strangers.similarities[:, 0]
        found = search(queries, embeddings, VOTERS + 1, is_raw=is_raw)
        # A row is left out of its own neighbours by its number: another may be as similar.
        is_other = found.numbers != rows[some, None]
        order = np.argsort(~is_other, axis=1, kind="stable")[:, :VOTERS]
        numbers = np.take_along_axis(found.numbers, order, 1)
        width = min(VOTERS, len(labels) - 1)
        nearest[some, :width] = labels[numbers[:, :width]]
        known[some] = np.take_along_axis(found.similarities, order[:, :1], 1)[:, 0]
        tell(min(begin + _QUERIES, len(rows)), len(rows))
    voted, counts = vote(nearest)
    classes = labels[rows]
    return OpenSetTrials(
        classes=classes,
        unknown=unknown,
        known=known,
        votes=counts,
        is_right=voted == classes,
        has_own=np.bincount(labels)[classes] > 1,
        n_indexed=len(np.unique(labels)),
    )


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
