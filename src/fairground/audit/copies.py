"""Images that occur more than once, byte for byte or nearly so: all pairs, how many cross parts, and examples.

Recompression, resizing and a change of brightness or contrast move a few bits of a fingerprint; two different
photographs differ in about half of them. Lookalikes differ in at most 16 bits, and in at most a fifth of the bits that
either has: pictures of small things on a plain ground have few. A mirrored, rotated or cropped copy is not recognised,
and images with fewer than 8 bits are too plain to be judged.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairground.audit.image_scan import ImageScan
from fairground.loading.decoding import for_each

#: the bits of a fingerprint, and in how many two lookalikes may differ
N_BITS = 256
THRESHOLD = 16
#: lookalikes share more than four bits for each in which they differ
_SHARED_TIMES = 4
#: an image with fewer bits is too plain to look like anything
MIN_BITS = 8
#: rows compared with all others at once
_BLOCK = 64
#: how many examples of copies are kept
_SHOWN = 5


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
    """What findings are about, row by row: labels, names, parts by number, what was seen, and all pairs of copies."""

    identifiers: tuple[str, ...]
    labels: np.ndarray
    class_names: tuple[str, ...]
    part_names: tuple[str, ...]
    part_of: np.ndarray
    scans: ImageScan
    pairs: tuple[CopyPair, ...] = ()


class NearDuplicates(NamedTuple):
    """For each image (n,): how many look like it, the nearest, and the nearest in another part and in another class.

    -1 where there is none. Images of one `identity` are the same image, not lookalikes.
    """

    n_near: np.ndarray
    nearest: np.ndarray
    in_other_part: np.ndarray
    in_other_class: np.ndarray


def exact_copies(rows: AuditRows, readable: np.ndarray) -> tuple[Copies, list[CopyPair]]:
    """Return the images that occur several times, byte for byte; each later copy with the first."""
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


def near_copies(rows: AuditRows, readable: np.ndarray) -> tuple[Copies, list[CopyPair]] | None:
    """Return the images that nearly equal another; None where there are no pictures."""
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


def _named(rows: AuditRows, pairs: list[CopyPair]) -> tuple[tuple[str, str], ...]:
    """Return the names of a few pairs, leaks between parts first."""
    pairs = sorted(pairs, key=lambda pair: rows.part_of[pair.first] == rows.part_of[pair.second])
    return tuple((rows.identifiers[pair.first], rows.identifiers[pair.second]) for pair in pairs[:_SHOWN])


def count_bits(bits: np.ndarray) -> np.ndarray:
    """Return how many bits of each fingerprint (n, 4) are set."""
    return np.asarray(np.bitwise_count(bits).sum(axis=1, dtype=np.int64))


def find_near_duplicates(
    bits: np.ndarray, identity: np.ndarray, parts: np.ndarray, labels: np.ndarray, *, threshold: int = THRESHOLD
) -> NearDuplicates:
    """Compare all fingerprints (n, 4) with all others, exactly; memory grows with n alone."""
    n_bits = count_bits(bits)
    judged = np.flatnonzero(n_bits >= MIN_BITS)
    found = np.full((len(bits), 4), -1, dtype=np.int64)
    found[:, 0] = 0

    def compare(begin: int) -> None:
        rows = judged[begin : begin + _BLOCK]
        # The first of four words leaves few pairs.
        places, others = np.nonzero(np.bitwise_count(bits[rows, :1] ^ bits[judged, 0]) <= threshold)
        mine, others = rows[places], judged[others]
        differ = count_bits(bits[mine] ^ bits[others])
        # Twice the shared bits are all bits of both less those in which they differ.
        shared_twice = n_bits[mine] + n_bits[others] - differ
        is_near = (differ <= threshold) & (shared_twice >= 2 * _SHARED_TIMES * differ)
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
    return NearDuplicates(*found.T)
