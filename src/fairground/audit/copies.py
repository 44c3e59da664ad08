"""Images that occur more than once, byte for byte or nearly so.

Recompression, resizing or brightness move a few bits of a fingerprint; mirroring or another picture, about half.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairground.audit import ImageScan
from fairground.contracts.dataset import ImageTable
from fairground.loading import for_each

#: the bits of a fingerprint, and in how many two lookalikes may differ
N_BITS, THRESHOLD = 256, 16
#: lookalikes share more than four bits for each in which they differ: small things on a plain ground have few
_SHARED_TIMES = 4
#: an image with fewer bits is too plain to look like anything
MIN_BITS = 8
#: rows compared with all others at once, and examples of copies that are kept
_BLOCK, _SHOWN = 64, 5


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Images that occur more than once: how many, how many of them across parts and across classes, and examples."""

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
class AuditRows:
    """What findings are about, row by row: names, parts by number, what was seen, and all pairs of copies."""

    table: ImageTable
    part_names: tuple[str, ...]
    part_of: np.ndarray
    scans: ImageScan
    pairs: tuple[CopyPair, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return self.table.identifiers or tuple(f"row {row}" for row in range(len(self.table.labels)))

    @cached_property
    def readable(self) -> np.ndarray:
        return np.setdiff1d(np.arange(len(self.part_of)), list(self.scans.faults))


def exact_copies(rows: AuditRows) -> tuple[Copies, list[CopyPair]]:
    """Return the images that occur several times, byte for byte; each later copy with the first."""
    readable = rows.readable
    hashes = rows.scans.hashes[readable]
    _, first, group, counts = np.unique(hashes, return_index=True, return_inverse=True, return_counts=True)
    is_copy, other = counts[group] > 1, first[group]
    pairs = [
        CopyPair(int(readable[other[place]]), int(readable[place]), True)
        for place in np.flatnonzero(is_copy & (other != np.arange(len(group))))
    ]
    is_mixed = [_is_mixed(group, values[readable]) for values in (rows.part_of, rows.table.labels)]
    return _counted(rows, (is_copy, *is_mixed), pairs), pairs


def near_copies(rows: AuditRows) -> tuple[Copies | None, list[CopyPair]]:
    """Return the images that nearly equal another; None where there are no pictures."""
    bits, readable = rows.scans.bits, rows.readable
    if bits is None or not len(readable):
        return None, []
    _, identity = np.unique(rows.scans.hashes[readable], return_inverse=True)
    found = find_near_duplicates(bits[readable], identity, rows.part_of[readable], rows.table.labels[readable])
    best = np.where(found[:, 2] >= 0, found[:, 2], found[:, 1])
    places = sorted({(min(a, b), max(a, b)) for a, b in enumerate(best.tolist()) if b >= 0})
    pairs = [CopyPair(int(readable[a]), int(readable[b]), False) for a, b in places]
    return _counted(rows, tuple(found[:, 1:].T >= 0), pairs), pairs


def _is_mixed(group: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Tell of each member whether its group has different values."""
    distinct = np.unique(np.stack([group, values]), axis=1)[0]
    return np.asarray(np.bincount(distinct)[group] > 1)


def _counted(rows: AuditRows, found: tuple[np.ndarray, ...], pairs: list[CopyPair]) -> Copies:
    """Count images, those across parts and those across classes; name a few pairs, leaks between parts first."""
    first = sorted(pairs, key=lambda pair: rows.part_of[pair.first] == rows.part_of[pair.second])[:_SHOWN]
    names = tuple((rows.names[pair.first], rows.names[pair.second]) for pair in first)
    images, across_parts, across_classes = (int(column.sum()) for column in found)
    return Copies(images=images, across_parts=across_parts, across_classes=across_classes, examples=names)


def count_bits(bits: np.ndarray) -> np.ndarray:
    return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.int64))


def find_near_duplicates(bits: np.ndarray, identity: np.ndarray, parts: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Compare all fingerprints (n, 4) with all others, exactly; memory grows with n alone.

    Return for each image (n, 4) how many look like it, the nearest, and the nearest in another part and in another
    class, -1 where there is none. Images of one `identity` are the same image, not lookalikes.
    """
    n_bits = count_bits(bits)
    judged = np.flatnonzero(n_bits >= MIN_BITS)
    found = np.full((len(bits), 4), -1, dtype=np.int64)
    found[:, 0] = 0

    def compare(begin: int) -> None:
        rows = judged[begin : begin + _BLOCK]
        # The first of four words leaves few pairs.
        places, others = np.nonzero(np.bitwise_count(bits[rows, :1] ^ bits[judged, 0]) <= THRESHOLD)
        mine, others = rows[places], judged[others]
        differ = count_bits(bits[mine] ^ bits[others])
        # Twice the shared bits are all bits of both less those in which they differ.
        shared_twice = n_bits[mine] + n_bits[others] - differ
        is_near = (differ <= THRESHOLD) & (shared_twice >= 2 * _SHARED_TIMES * differ)
        is_near &= identity[mine] != identity[others]
        mine, others, differ = mine[is_near], others[is_near], differ[is_near]
        np.add.at(found[:, 0], mine, 1)
        order = np.lexsort((others, differ, mine))
        mine, others = mine[order], others[order]
        is_wanted = (np.ones(len(mine), bool), parts[mine] != parts[others], labels[mine] != labels[others])
        for column, is_here in enumerate(is_wanted, start=1):
            row, first = np.unique(mine[is_here], return_index=True)
            found[row, column] = others[is_here][first]

    for_each(compare, range(0, len(judged), _BLOCK))
    return found
