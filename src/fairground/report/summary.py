"""What comes first on a page: advice in sentences, how it was computed, and a ranking as a table."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Summary:
    """`sentences` are the advice, the first the most important; `steps` say how it was computed."""

    sentences: tuple[str, ...]
    steps: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
