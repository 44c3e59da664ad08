import io

import numpy as np
from PIL import Image

from fairground.audit import MIN_BITS, THRESHOLD, count_bits, find_near_duplicates, fingerprint_bits


def pattern(seed, size=(120, 90)):
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 9, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def distance(a, b):
    return int(count_bits((fingerprint_bits(a) ^ fingerprint_bits(b))[None])[0])


def test_bits_are_where_the_picture_gets_brighter_to_the_right():
    shades = np.tile(np.arange(17, dtype=np.uint8) * 10, (16, 1))
    rising, falling = Image.fromarray(shades), Image.fromarray(shades[:, ::-1].copy())
    assert count_bits(fingerprint_bits(rising)[None]).tolist() == [256]
    assert count_bits(fingerprint_bits(falling)[None]).tolist() == [0]
    shades[0, 1:] = 0
    assert count_bits(fingerprint_bits(Image.fromarray(shades))[None]).tolist() == [240]


def test_recompressed_resized_and_darkened_copies_are_near_and_other_pictures_far():
    for seed in range(10):
        image = pattern(seed)
        file = io.BytesIO()
        image.save(file, "JPEG", quality=40)
        copies = [Image.open(file), image.resize((60, 45)), Image.eval(image, lambda value: int(value * 0.85))]
        assert max(distance(image, copy) for copy in copies) <= THRESHOLD
        assert distance(image, pattern(seed + 100)) > 2 * THRESHOLD


def loop(bits, identity, parts, labels, threshold):
    """The search by its definition, one pair after another."""
    ones = [[int(bit) for word in row for bit in f"{int(word):064b}"] for row in bits]
    found = np.full((len(bits), 4), -1)
    found[:, 0] = 0
    for i, mine in enumerate(ones):
        best = [threshold + 1] * 3
        for j, other in enumerate(ones):
            differ = sum(a != b for a, b in zip(mine, other, strict=True))
            shared = sum(a and b for a, b in zip(mine, other, strict=True))
            is_judged = min(sum(mine), sum(other)) >= MIN_BITS and identity[i] != identity[j]
            if not is_judged or differ > threshold or 4 * differ > shared:
                continue
            found[i, 0] += 1
            for place, holds in enumerate((True, parts[i] != parts[j], labels[i] != labels[j])):
                if holds and differ < best[place]:
                    best[place], found[i, place + 1] = differ, j
    return found


def test_the_search_agrees_with_a_slow_loop():
    rng = np.random.default_rng(3)
    centres = rng.integers(0, 2**63, (6, 4)).astype(np.uint64)
    centres[5] = [1, 3, 0, 7]
    bits = centres[rng.integers(0, 6, 60)]
    for row in bits:
        for place in rng.integers(0, 256, rng.integers(0, 14)):
            row[place // 64] ^= np.uint64(1) << np.uint64(place % 64)
    bits[0], bits[1] = 0, 0
    identity, parts, labels = np.arange(60), rng.integers(0, 3, 60), rng.integers(0, 8, 60)
    identity[7] = identity[8] = 7
    found = find_near_duplicates(bits, identity, parts, labels)
    assert found.tolist() == loop(bits, identity, parts, labels, THRESHOLD).tolist()
    assert (found[:, 0] > 0).any()


def test_plain_pictures_are_not_judged():
    flat = np.stack([fingerprint_bits(Image.new("RGB", (40, 40), colour)) for colour in ("white", "black")])
    found = find_near_duplicates(flat, np.arange(2), np.zeros(2), np.zeros(2))
    assert found[:, 0].tolist() == [0, 0]
