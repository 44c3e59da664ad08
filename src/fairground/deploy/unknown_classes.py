"""Queries of an index: the most similar rows, and whether the class is known, at an error rate that is measured.

A row of a class the model was not trained on is searched for twice: among all other rows, where its class is known, and
among the rows of other classes, where it is not. The first gives the rate of right answers, the second the conformal
p-value of "unknown" at the size of this index. The class is a vote of the nearest rows (Cover and Hart, "Nearest
neighbor pattern classification", IEEE Transactions on Information Theory 1967).

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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fairground.deploy.index_folder import MARK, TRIALS, Index
from fairground.deploy.index_search import search
from fairground.deploy.inputs import Embeddable, EmbeddingInputs, read_inputs, thumbnail
from fairground.errors import DataError, FairgroundError, InputError, require
from fairground.evaluation.bootstrap import Bootstrap, BootstrapInterval
from fairground.loading.class_folders import is_image_name
from fairground.records.arrays import array_names, read_arrays, write_arrays

#: the share of queries of unknown classes that may be given a class, by default
FPIR = 0.05
#: rows that vote
VOTERS = 5
#: rows put as queries, at most
ROWS = 4000
#: comparisons from which on the trials are kept in the folder
_KEPT = 50_000_000
_QUERIES = 256
#: queries answered at once, at most, and classes named for each
MOST, _CLASSES = 10_000, 3
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


def vote(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the most frequent of the labels (q, k) of the nearest rows, nearest first, and how many rows have it.

    -1 stands for no row. Of equal counts the class of the nearest row is taken.
    """
    is_row = labels >= 0
    counts = ((labels[:, :, None] == labels[:, None, :]) & is_row[:, None, :]).sum(2) * is_row
    # The first of the highest counts is the nearest row of its class.
    first = counts.argmax(1)
    rows = np.arange(len(labels))
    return np.where(counts[rows, first] > 0, labels[rows, first], -1), counts[rows, first]


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
        """Describe the decision, its guarantee and its measured rate."""
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
    embeddings = index.rows if len(index.removed) == 0 else index.rows[index.ids]
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


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """One row of the index; `id` is its identifier, for `fairground index remove --ids`."""

    id: int
    name: str
    label: str | None
    similarity: float


@dataclass(frozen=True, kw_only=True)
class NearestClass:
    """A class with the similarity of its nearest row."""

    label: str
    similarity: float


@dataclass(frozen=True, kw_only=True)
class QueryDecision:
    """`is_known` is None where there is no threshold. `label` is the class voted for by `votes` of `voters` rows.

    `confidence` is measured on the index: of a named class, how often such an answer is right when the class is known;
    of "unknown", how often it is right at such a score when half of the pictures are unknown. `unknown_rate` is the
    share at most of pictures of unknown classes that score as high.
    """

    is_known: bool | None
    label: str | None
    votes: int
    voters: int
    confidence: float | None = None
    unknown_rate: float | None = None

    @property
    def text(self) -> str:
        sure = "" if self.confidence is None else f", confidence {100 * self.confidence:.0f} %"
        if self.is_known is None:
            return "no decision"
        if not self.is_known:
            return f"unknown{sure}"
        if self.label is None:
            return "known"
        return f"{self.label}{sure} ({self.votes} of {self.voters} nearest)"


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """One query's neighbours, most similar first; `truth` is its class where the queries came with classes."""

    query: str
    decision: QueryDecision
    classes: tuple[NearestClass, ...]
    neighbours: tuple[Neighbour, ...]
    truth: str | None
    is_truth_indexed: bool
    picture: bytes | None

    @property
    def nearest(self) -> str:
        return ", ".join(f"{one.label} {one.similarity:.3f}" for one in self.classes)

    @property
    def is_right(self) -> bool | None:
        """Whether the decision is right: the class where it is indexed, unknown where it is not; None if not known."""
        if self.truth is None or self.decision.is_known is None:
            return None
        if not self.is_truth_indexed:
            return not self.decision.is_known
        return self.decision.is_known and self.decision.label == self.truth


def read_queries(paths: Sequence[str | Path]) -> list[EmbeddingInputs]:
    """Return the queries: single pictures as one set, and each folder, table or file of features as its own."""
    is_pictures = all(Path(path).expanduser().is_file() and is_image_name(str(path)) for path in paths)
    return [read_inputs(paths)] if is_pictures and len(paths) > 1 else [read_inputs(path) for path in paths]


def query_index(
    index: Index, data: Embeddable, *, k: int = 10, rule: DecisionRule, pictures: bool = False
) -> list[QueryResult]:
    """Return the answer to every picture of `data`; `pictures` adds small ones of the queries."""
    inputs = read_inputs(data)
    require(len(inputs) <= MOST, f"at most {MOST:,} queries are answered at once; got {len(inputs):,}")
    require(len(index) > 0, f"the index {index.folder} is empty; add rows with `fairground index add`")
    matches = index.search(index.model.embed(inputs), max(k, VOTERS))
    has_pictures = pictures and inputs.images.is_picture
    indexed = set(index.class_names)
    results = []
    for query, name in enumerate(inputs.names):
        nearest = zip(matches.numbers[query].tolist(), matches.similarities[query].tolist(), strict=True)
        found = [
            Neighbour(id=row, name=index.names[row], label=index.label(row), similarity=similarity)
            for row, similarity in nearest
            if row >= 0
        ]
        classes: dict[str, float] = {}
        for one in found:
            if one.label is not None:
                classes.setdefault(one.label, one.similarity)
        truth = None if inputs.labels is None else inputs.class_names[int(inputs.labels[query])]
        results.append(
            QueryResult(
                query=name,
                decision=_decision(index, found, rule),
                classes=tuple(NearestClass(label=label, similarity=classes[label]) for label in [*classes][:_CLASSES]),
                neighbours=tuple(found[:k]),
                truth=truth,
                is_truth_indexed=truth in indexed,
                picture=thumbnail(inputs.images, query) if has_pictures else None,
            )
        )
    return results


def _decision(index: Index, found: Sequence[Neighbour], rule: DecisionRule) -> QueryDecision:
    label, votes = None, 0
    if index.labels is not None:
        classes, counts = vote(np.array([[index.labels[neighbour.id] for neighbour in found[:VOTERS]]]))
        label, votes = index.info.class_names[int(classes[0])], int(counts[0])
    score, trials = found[0].similarity, rule.trials
    is_known = None if rule.threshold is None else score >= rule.threshold
    right = passing = None
    if rule.threshold is not None and trials is not None:
        right = trials.right_share(rule.threshold, votes) if is_known else trials.unknown_confidence(score)
        passing = float(trials.p_value(np.array([score]))[0])
    voters = min(VOTERS, len(found))
    return QueryDecision(
        is_known=is_known, label=label, votes=votes, voters=voters, confidence=right, unknown_rate=passing
    )
