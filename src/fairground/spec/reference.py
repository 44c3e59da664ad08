"""Where a method was published."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The publication a component follows, written there as literals, so that it is read without importing it."""

    authors: str
    title: str
    venue: str
    year: int
