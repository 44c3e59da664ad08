"""What stands above all else on a page: advice in sentences, how it was come by, and a ranking as a table."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Summary:
    """`sentences` are the advice, the first the most important; `told` is how it was come by."""

    sentences: tuple[str, ...]
    steps: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
