"""Queries put to an index: what is most similar, and whether it is similar enough to be called a match."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairground.deploy.calibration import EER, FMR
from fairground.deploy.index import How, Index
from fairground.deploy.inputs import EmbeddingInputs, read_inputs
from fairground.deploy.metadata import Threshold
from fairground.deploy.thumbnails import thumbnail
from fairground.errors import require

#: queries embedded and searched at most in one go
MOST = 10_000


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """One row of the index; `is_match` is None where there is no threshold."""

    row: int
    name: str
    label: str | None
    similarity: float
    is_match: bool | None


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """One query's neighbours, most similar first."""

    query: str
    neighbours: tuple[Neighbour, ...]
    picture: bytes | None

    @property
    def is_match(self) -> bool | None:
        """Whether the most similar row is a match."""
        return self.neighbours[0].is_match if self.neighbours else None

    @property
    def verdict(self) -> str:
        """The decision in a few words."""
        if not self.neighbours:
            return "nothing found"
        best = self.neighbours[0]
        named = best.name if best.label is None else best.label
        if best.is_match is None:
            return f"most similar: {named} ({best.similarity:.3f})"
        return f"match: {named} ({best.similarity:.3f})" if best.is_match else f"no match (best {best.similarity:.3f})"


@dataclass(frozen=True, kw_only=True)
class MatchRule:
    """From which similarity on something is a match, and what that costs; nothing where it is not known."""

    similarity: float | None
    calibrated: Threshold | None

    def sentence(self, n: int) -> str:
        """Say how matches are told from the rest of an index of `n` rows."""
        if self.similarity is None:
            return "No threshold is known for this model, so nothing is called a match."
        if self.calibrated is None:
            return (
                f"Matches have a similarity of at least {self.similarity:.4f}, as asked; its error rates are not known."
            )
        passing = self.calibrated.fmr * n
        return (
            f"Matches: {self.calibrated.sentence()}. Compared with the {n:,} rows here, a query without a match would "
            f"let about {passing:,.1f} through at that rate."
        )


def rule_of(index: Index, words: str) -> MatchRule:
    """Return the rule called `fmr` or `eer`, a similarity said as a number, or `none`."""
    names = {"fmr": FMR, "eer": EER}
    if words in names:
        found = index.model.metadata.threshold(names[words])
        return MatchRule(similarity=None if found is None else found.similarity, calibrated=found)
    if words == "none":
        return MatchRule(similarity=None, calibrated=None)
    try:
        value = float(words)
    except ValueError:
        value = float("nan")
    require(bool(np.isfinite(value)), f"a threshold is fmr, eer, none or a number; got '{words}'")
    return MatchRule(similarity=value, calibrated=None)


def query_index(
    index: Index,
    data: EmbeddingInputs | str | Path,
    *,
    k: int = 10,
    rule: MatchRule,
    how: How = "auto",
    pictures: bool = False,
) -> list[QueryResult]:
    """Return the answer to every picture of `data`; `pictures` adds small ones of the queries."""
    inputs = data if isinstance(data, EmbeddingInputs) else read_inputs(data)
    require(len(inputs) <= MOST, f"at most {MOST:,} queries are answered at once; got {len(inputs):,}")
    matches = index.search(index.model.embed(inputs), k, how=how)
    has_pictures = pictures and inputs.images.is_picture
    return [
        QueryResult(
            query=name,
            neighbours=tuple(
                _neighbour(index, int(row), float(similarity), rule)
                for row, similarity in zip(matches.numbers[query], matches.similarities[query], strict=True)
                if row >= 0
            ),
            picture=thumbnail(inputs.images, query) if has_pictures else None,
        )
        for query, name in enumerate(inputs.names)
    ]


def _neighbour(index: Index, row: int, similarity: float, rule: MatchRule) -> Neighbour:
    is_match = None if rule.similarity is None else similarity >= rule.similarity
    return Neighbour(row=row, name=index.names[row], label=index.label(row), similarity=similarity, is_match=is_match)
