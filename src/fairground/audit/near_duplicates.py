"""Images that look the same: a fingerprint of 256 bits an image, and an exact search for those that differ in few.

Bit (r, c) of a fingerprint tells whether pixel (r, c + 1) of the image, shrunk to 16 rows of 17 gray pixels, is
brighter than pixel (r, c). Recompression, resizing and a change of brightness or contrast move a few bits; two
different photographs differ in about half of them. So lookalikes differ in 16 bits at most, and in a fifth at most of
the bits that either has: pictures of small things on a plain ground have few. A mirrored, turned or cropped copy is
not recognised, and images with fewer than 8 bits are too plain to be judged.
"""

from typing import NamedTuple

import numba
import numpy as np
from PIL import Image

from fairground.loading.decoding import for_each

#: the bits of a fingerprint, and in how many two lookalikes may differ
N_BITS = 256
THRESHOLD = 16
#: lookalikes share more than four bits for each in which they differ
_SHARED_TIMES = 4
#: an image with fewer bits is too plain to look like anything
MIN_BITS = 8
_SIDE = 16
#: shades of gray (of 255) a difference must exceed: the noise of flat areas must not decide bits
_MARGIN = 2.0
#: rows searched for in one go
_BLOCK = 512


class NearDuplicates(NamedTuple):
    """For each image (n,): how many look like it, the nearest, and the nearest in another part and in another class.

    -1 where there is none. Images of one `identity` are the same image, not lookalikes.
    """

    n_near: np.ndarray
    nearest: np.ndarray
    in_other_part: np.ndarray
    in_other_class: np.ndarray


def fingerprint_bits(image: Image.Image) -> np.ndarray:
    """Return the fingerprint of an image as 4 whole numbers of 64 bits."""
    small = image.convert("L").resize((_SIDE + 1, _SIDE), Image.Resampling.BILINEAR)
    shades = np.asarray(small, dtype=np.float32)
    return np.packbits((np.diff(shades, axis=1) > _MARGIN).reshape(-1)).view(np.uint64)


def count_bits(bits: np.ndarray) -> np.ndarray:
    """Return how many bits of each fingerprint (n, 4) are set."""
    return np.asarray(np.unpackbits(bits.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64))


def find_near_duplicates(
    bits: np.ndarray, identity: np.ndarray, parts: np.ndarray, labels: np.ndarray, *, threshold: int = THRESHOLD
) -> NearDuplicates:
    """Compare all fingerprints (n, 4) with all others, exactly; memory grows with n alone."""
    n = len(bits)
    found = np.full((n, 4), -1, dtype=np.int64)
    blocks = [(begin, min(begin + _BLOCK, n)) for begin in range(0, n, _BLOCK)]
    bits = np.ascontiguousarray(bits)
    n_bits = count_bits(bits)
    columns = np.stack([identity, parts, labels]).astype(np.int64)
    # Compiled by one thread before the others need it.
    _search(bits, n_bits, columns, (0, 0), threshold, found)
    for_each(lambda block: _search(bits, n_bits, columns, block, threshold, found), blocks)
    return NearDuplicates(*found.T)


@numba.njit(nogil=True, cache=True)
def _search(
    bits: np.ndarray, n_bits: np.ndarray, columns: np.ndarray, rows: tuple[int, int], threshold: int, found: np.ndarray
) -> None:
    identity, parts, labels = columns[0], columns[1], columns[2]
    n = len(bits)
    for row in range(rows[0], rows[1]):
        n_near = 0
        nearest = np.full(3, -1, np.int64)
        best = np.full(3, threshold + 1, np.int64)
        for other in range(n if n_bits[row] >= MIN_BITS else 0):
            if identity[other] == identity[row] or n_bits[other] < MIN_BITS:
                continue
            distance = 0
            for word in range(bits.shape[1]):
                distance += int(_ones(bits[row, word] ^ bits[other, word]))
                if distance > threshold:
                    break
            # twice the shared bits = all bits of both less those in which they differ
            shared_twice = n_bits[row] + n_bits[other] - distance
            if distance > threshold or shared_twice < 2 * _SHARED_TIMES * distance:
                continue
            n_near += 1
            if distance < best[0]:
                best[0], nearest[0] = distance, other
            if parts[other] != parts[row] and distance < best[1]:
                best[1], nearest[1] = distance, other
            if labels[other] != labels[row] and distance < best[2]:
                best[2], nearest[2] = distance, other
        found[row, 0] = n_near
        found[row, 1:] = nearest


@numba.njit(nogil=True, cache=True, inline="always")
def _ones(word: np.uint64) -> np.int64:
    """Count the ones of 64 bits: pairs, then fours, then bytes, then all bytes at once."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
