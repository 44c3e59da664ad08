"""Lone queries, which have nothing to find: left out of the means (`drop`), or counted as 0 (`zero`)."""

from typing import Literal

import numpy as np

from fairground.errors import DataError, require
from fairground.evaluation import EmbeddingView

Lone = Literal["drop", "zero"]


def counted_queries(view: EmbeddingView, lone: Lone, *, is_ranked: bool) -> np.ndarray:
    """Return which queries (n,) enter the means; refuse rankings of which none does."""
    require(lone in ("drop", "zero"), f"lone must be 'drop' or 'zero'; got '{lone}'")
    is_counted = np.ones(view.n_queries, bool)
    if lone == "drop":
        is_counted[view.relevance.query_order] = view.relevance.n_relevant > 0
    require(
        not is_ranked or bool(is_counted.any()),
        "no query has anything to find: every class has a single image, or all its pairs are left out; "
        "give classes two images at least",
        DataError,
    )
    return is_counted
