"""Slow and plain: what tuples there are, how far apart unit vectors lie, and whether counts fit their chances."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import torch
from scipy import stats
from torch import Tensor

from fairground.contracts import Miner, Pairs, Triplets

Triplet = tuple[int, int, int]
Pair = tuple[int, int]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_batch(n: int, dimension: int, n_classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = seeded(seed)
    embeddings = torch.randn(n, dimension, generator=generator, dtype=torch.float64)
    return embeddings, torch.randint(n_classes, (n,), generator=generator)


def distances_by_loop(embeddings: Tensor) -> list[list[float]]:
    rows = []
    for row in embeddings.tolist():
        length = math.sqrt(sum(value * value for value in row))
        rows.append([value / max(length, 1e-12) for value in row])
    return [[math.dist(left, right) for right in rows] for left in rows]


def all_triplets(labels: Tensor) -> set[Triplet]:
    y = labels.tolist()
    n = len(y)
    return {(a, p, q) for a in range(n) for p in range(n) for q in range(n) if p != a and y[p] == y[a] and y[q] != y[a]}


def positives_of(labels: Tensor, anchor: int) -> list[int]:
    return [j for j, label in enumerate(labels.tolist()) if label == int(labels[anchor]) and j != anchor]


def negatives_of(labels: Tensor, anchor: int) -> list[int]:
    return [j for j, label in enumerate(labels.tolist()) if label != int(labels[anchor])]


def triplet_list(triplets: Triplets) -> list[Triplet]:
    return list(zip(*(part.tolist() for part in triplets), strict=True))


def pair_lists(pairs: Pairs) -> tuple[list[Pair], list[Pair]]:
    positive = list(zip(pairs.positive_anchor.tolist(), pairs.positive.tolist(), strict=True))
    return positive, list(zip(pairs.negative_anchor.tolist(), pairs.negative.tolist(), strict=True))


def draw_often(miner: Miner, embeddings: Tensor, labels: Tensor, times: int, seed: int = 0) -> Counter[Triplet]:
    generator = seeded(seed)
    counts: Counter[Triplet] = Counter()
    for _ in range(times):
        counts.update(triplet_list(miner(embeddings, labels, generator=generator)))
    return counts


def marginal(counts: Mapping[Triplet, int], anchor: int, part: Callable[[Triplet], int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for triplet, count in counts.items():
        if triplet[0] == anchor:
            found[part(triplet)] += count
    return found


def assert_chances(counts: Mapping[int, int], chances: Mapping[int, float]) -> None:
    """Chi-square test at one in a thousand; what has no chance must not have been drawn."""
    possible = [key for key, chance in chances.items() if chance > 0]
    assert set(counts) <= set(possible)
    if len(possible) == 1:
        return
    total = sum(counts.values())
    weight = sum(chances[key] for key in possible)
    observed = [counts.get(key, 0) for key in possible]
    expected = [total * chances[key] / weight for key in possible]
    assert stats.chisquare(observed, expected).pvalue > 1e-3


def evenly(keys: Iterable[int]) -> dict[int, float]:
    return dict.fromkeys(keys, 1.0)
