"""Answers to the queries of an index: the most similar rows, the class they vote for, or that it is unknown."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairground.deploy import VOTERS, DecisionRule, Embeddable, EmbeddingInputs, Index, read_inputs, thumbnail, vote
from fairground.evaluation import EmbeddingView
from fairground.loading import is_image_name, require

#: queries answered at once, at most, and classes named for each
MOST, _CLASSES = 10_000, 3


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
    index: Index, data: Embeddable, *, k: int = 10, rule: DecisionRule, pictures: bool = False, rerank: str = "none"
) -> list[QueryResult]:
    """Return the answer to every picture of `data`; `pictures` adds small ones of the queries.

    `rerank` puts neighbours in another order. Decisions stay by similarity: the rule was calibrated on it.
    """
    inputs = read_inputs(data)
    require(len(inputs) <= MOST, f"at most {MOST:,} queries are answered at once; got {len(inputs):,}")
    require(len(index) > 0, f"the index {index.folder} is empty; add rows with `fairground index add`")
    embeddings = index.model.embed(inputs)
    matches = index.search(embeddings, max(k, VOTERS))
    reordered = None if rerank == "none" else _reranked(index, embeddings, k, rerank)
    has_pictures = pictures and inputs.images.is_picture
    indexed = set(index.class_names)
    results = []
    for query, name in enumerate(inputs.names):
        found = _neighbours(index, matches.numbers[query], matches.similarities[query])
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
                neighbours=tuple(found[:k] if reordered is None else reordered[query]),
                truth=truth,
                is_truth_indexed=truth in indexed,
                picture=thumbnail(inputs.images, query) if has_pictures else None,
            )
        )
    return results


def _neighbours(index: Index, numbers: np.ndarray, similarities: np.ndarray) -> list[Neighbour]:
    return [
        Neighbour(id=row, name=index.names[row], label=index.label(row), similarity=similarity)
        for row, similarity in zip(numbers.tolist(), similarities.tolist(), strict=True)
        if row >= 0
    ]


def _reranked(index: Index, queries: np.ndarray, k: int, rerank: str) -> list[list[Neighbour]]:
    rows = np.asarray(index.rows[index.ids])
    sides = (queries, np.arange(len(queries)), rows, np.arange(len(rows)))
    view = EmbeddingView(*sides, normalise=not index.info.is_raw).reranked(rerank)
    found = []
    for query, places in zip(queries, view.neighbour_numbers(k), strict=True):
        near = rows[places[places >= 0]].astype(np.float64)
        similarities = -np.sqrt(((near - query) ** 2).sum(1)) if index.info.is_raw else (near * query).sum(1)
        found.append(_neighbours(index, index.ids[places[places >= 0]], similarities))
    return found


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
