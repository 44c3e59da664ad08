"""Images that are there more than once, byte for byte or nearly so: all pairs, how many cross parts, and examples."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairground.audit.image_scan import ImageScan
from fairground.audit.near_duplicates import find_near_duplicates

#: how many examples of copies are kept
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Images that are there more than once: how many, how many of them in another part or class too, and examples."""

    images: int
    across_parts: int
    across_classes: int
    examples: tuple[tuple[str, str], ...] = ()


class CopyPair(NamedTuple):
    """Two rows that show the same, the earlier first; `is_exact` when byte for byte."""

    first: int
    second: int
    is_exact: bool


@dataclass(frozen=True, kw_only=True)
class AuditedRows:
    """What an audit needs of a data set: labels, names, parts by number, and what was seen."""

    labels: np.ndarray
    class_names: tuple[str, ...]
    identifiers: tuple[str, ...]
    part_names: tuple[str, ...]
    part_of: np.ndarray
    scans: ImageScan


def exact_copies(rows: AuditedRows, readable: np.ndarray) -> tuple[Copies, list[CopyPair]]:
    """Return what is there several times, byte for byte; each later copy with the first."""
    _, group, counts = np.unique(rows.scans.hashes[readable], return_inverse=True, return_counts=True)
    is_copy = counts[group] > 1
    first = np.full(len(counts), -1)
    first[group[::-1]] = np.arange(len(group))[::-1]
    other = first[group]
    pairs = [
        CopyPair(int(readable[other[place]]), int(readable[place]), True)
        for place in np.flatnonzero(is_copy & (other != np.arange(len(group))))
    ]
    copies = Copies(
        images=int(is_copy.sum()),
        across_parts=int(_is_mixed(group, rows.part_of[readable])[group].sum()),
        across_classes=int(_is_mixed(group, rows.labels[readable])[group].sum()),
        examples=_named(rows, pairs),
    )
    return copies, pairs


def near_copies(rows: AuditedRows, readable: np.ndarray) -> tuple[Copies, list[CopyPair]] | None:
    """Return what nearly equals another image; None where there is nothing to look at."""
    bits = rows.scans.bits
    if bits is None or not len(readable):
        return None
    _, identity = np.unique(rows.scans.hashes[readable], return_inverse=True)
    found = find_near_duplicates(bits[readable], identity, rows.part_of[readable], rows.labels[readable])
    best = np.where(found.in_other_part >= 0, found.in_other_part, found.nearest)
    places = sorted({(min(a, b), max(a, b)) for a, b in enumerate(best.tolist()) if b >= 0})
    pairs = [CopyPair(int(readable[a]), int(readable[b]), False) for a, b in places]
    copies = Copies(
        images=int((found.n_near > 0).sum()),
        across_parts=int((found.in_other_part >= 0).sum()),
        across_classes=int((found.in_other_class >= 0).sum()),
        examples=_named(rows, pairs),
    )
    return copies, pairs


def _is_mixed(group: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each group whether its members have different values."""
    if not len(group):
        return np.zeros(0, bool)
    low, high = np.full(group.max() + 1, np.iinfo(np.int64).max), np.full(group.max() + 1, -1)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    return np.asarray(low != high)


def _named(rows: AuditedRows, pairs: list[CopyPair]) -> tuple[tuple[str, str], ...]:
    """Return the names of a few pairs, leaks between parts first."""
    pairs = sorted(pairs, key=lambda pair: rows.part_of[pair.first] == rows.part_of[pair.second])
    return tuple((rows.identifiers[pair.first], rows.identifiers[pair.second]) for pair in pairs[:_SHOWN])
