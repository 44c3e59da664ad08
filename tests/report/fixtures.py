"""Fabricated runs and galleries for the report's tests."""

from pathlib import Path

import numpy as np

from fairground.records.arrays import write_arrays
from fairground.records.record import RunRecord
from tests.records.factory import make_record

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{0}$ _hidden",
    "\u202eevil \x1b[31mred\x1b[0m\x00",
    "🎡 مرحبا 日本語",
    "x" * 10_000,
    '=HYPERLINK("http://example.invalid")',
)


def make_study(n_seeds: int = 3, spread: float = 0.004) -> list[RunRecord]:
    """Four methods: one ahead of the others, two close together, one far behind."""
    methods = [
        ("contrastive", {"negative_margin": 0.8}, None, 0.30),
        ("triplet", {"margin": 0.2}, None, 0.34),
        ("triplet", {"margin": 0.2}, "distance_weighted", 0.342),
        ("margin", {"beta": 1.2}, "distance_weighted", 0.45),
    ]
    return [
        make_record(loss=loss, settings=settings, miner=miner, level=level, seed=seed, spread=spread)
        for loss, settings, miner, level in methods
        for seed in range(n_seeds)
    ]


def write_gallery(
    path: Path, *, labels: tuple[str, ...] = ("anchor", "bell"), side: int = 16, channels: int = 1
) -> Path:
    """Three queries with four neighbours each; the first query has them all right, the last all wrong."""
    random = np.random.default_rng(0)
    right = np.array([[True] * 4, [True, False, True, False], [False] * 4])
    names = np.array([[labels[0]] + [labels[0] if hit else labels[1] for hit in row] for row in right])
    images = random.integers(0, 255, size=(3, 5, side, side, channels), dtype=np.uint8)
    write_arrays(
        path, {"images": images, "labels": names, "right": right, "average_precision": np.array([1.0, 0.5, 0.0])}
    )
    return path
