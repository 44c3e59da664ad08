"""Does "at most 5 % of unknown pictures" hold? The measured rate on classes that the index has never seen.

FAIRGROUND_BENCH_FEATURES says where `NAME.npz` files of features lie (arrays `features` and `labels`); without it only
the shipped icons are measured, by their pixels. FAIRGROUND_BENCH_SPLITS says how many random class splits (6).
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Table
from fairground.datasets.icons import IconsDataset
from fairground.deploy.index_search import search
from fairground.deploy.unknown_classes import class_mean, open_set_trials, spread_rows
from fairground.records.arrays import read_arrays

FEATURES = os.environ.get("FAIRGROUND_BENCH_FEATURES", "")
SPLITS = int(os.environ.get("FAIRGROUND_BENCH_SPLITS", "6"))
FPIR = 0.05


def tables() -> Iterator[Table]:
    """Yield the table of measured rates."""
    files = sorted(Path(FEATURES).expanduser().glob("*.npz")) if FEATURES else []
    sets = [("icons, pixels", _icons()), *((path.stem, _features(path)) for path in files)]
    yield Table(
        title="Measured FPIR at a stated 5 %",
        note=f"{SPLITS} random splits of the classes in half: one half is the index and calibrates, the other half is "
        "unknown to it. Rates are means over classes. Refused: fewer than 19 classes cannot promise 5 %. DIR is the "
        "share of indexed pictures, each left out in turn, that get their class at the same threshold.",
        header=["data", "classes indexed", "measured FPIR, each split, %", "mean, %", "in 2 to 8 %", "DIR, %"],
        rows=[_row(name, rows, labels) for name, (rows, labels) in sets],
    )


def _row(name: str, rows: np.ndarray, labels: np.ndarray) -> list[str]:
    measured, identified = [], []
    classes = np.unique(labels)
    for split in range(SPLITS):
        indexed = np.random.default_rng(split).permutation(classes)[: len(classes) // 2]
        found = _measure(rows, labels, np.isin(labels, indexed))
        if found is not None:
            measured.append(100 * found[0])
            identified.append(100 * found[1])
    if not measured:
        return [name, str(len(classes) // 2), "refused", "", "", ""]
    inside = sum(2 <= rate <= 8 for rate in measured)
    return [
        name,
        str(len(classes) // 2),
        ", ".join(f"{rate:.1f}" for rate in measured),
        f"{np.mean(measured):.1f}",
        f"{inside} of {len(measured)}",
        f"{np.mean(identified):.0f}",
    ]


def _measure(rows: np.ndarray, labels: np.ndarray, is_indexed: np.ndarray) -> tuple[float, float] | None:
    """Return the measured FPIR on the classes outside the index, and the DIR on those inside; None where refused."""
    index = np.ascontiguousarray(rows[is_indexed])
    rows_put = spread_rows(labels[is_indexed], np.unique(labels[is_indexed]))
    trials = open_set_trials(index, labels[is_indexed], rows_put)
    threshold = trials.threshold(FPIR)
    if threshold is None:
        return None
    best = search(rows[~is_indexed], index, 1)
    passes = (best.similarities[:, 0] >= threshold).astype(np.float64)
    found = trials.identified(threshold)
    assert found is not None
    return class_mean(passes, labels[~is_indexed]), found[0]


def _icons() -> tuple[np.ndarray, np.ndarray]:
    table = IconsDataset().load()
    pixels = table.images.take(np.arange(len(table.labels))).numpy()
    return _unit(pixels.reshape(len(pixels), -1)), table.labels


def _features(path: Path) -> tuple[np.ndarray, np.ndarray]:
    arrays = read_arrays(path, ["features", "labels"])
    return _unit(arrays["features"]), arrays["labels"]


def _unit(rows: np.ndarray) -> np.ndarray:
    found = rows.astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found
