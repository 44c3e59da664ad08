"""Do suspect labels hold wrong ones? Labels are swapped at random, and the first suspects counted.

FAIRGROUND_BENCH_FEATURES says where `NAME.npz` files of features lie (arrays `features` and `labels`); without it only
the shipped icons are judged, by their pixels.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Table
from fairground.audit.label_errors import suspect_labels
from fairground.datasets.icons import IconsDataset
from fairground.records.arrays import read_arrays

FEATURES = os.environ.get("FAIRGROUND_BENCH_FEATURES", "")
SHARE = 0.05
SEEDS = 3


def tables() -> Iterator[Table]:
    """Yield the table of precisions."""
    icons = IconsDataset().load()
    pixels = icons.images.take(np.arange(len(icons.labels))).numpy().reshape(len(icons.labels), -1)
    sets = [("icons, pixels", pixels, icons.labels)]
    for path in sorted(Path(FEATURES).expanduser().glob("*.npz")) if FEATURES else []:
        arrays = read_arrays(path, ["features", "labels"])
        sets.append((path.stem, arrays["features"], arrays["labels"]))
    yield Table(
        title="Precision of the first 5 % of suspects, 5 % of labels swapped",
        note=f"{SEEDS} draws of which labels are swapped, each for another class at random. Labels that were wrong "
        "before count as errors of the ranking.",
        header=["data", "images", "classes", "precision, each draw, %", "mean, %"],
        rows=[_row(name, rows, labels) for name, rows, labels in sets],
    )


def _row(name: str, rows: np.ndarray, labels: np.ndarray) -> list[str]:
    classes, truth = np.unique(labels, return_inverse=True)
    n_swapped = round(SHARE * len(truth))
    found = []
    for seed in range(SEEDS):
        draw = np.random.default_rng(seed)
        swapped = draw.choice(len(truth), n_swapped, replace=False)
        given = truth.copy()
        given[swapped] = (truth[swapped] + draw.integers(1, len(classes), n_swapped)) % len(classes)
        first = suspect_labels(rows, given).order()[:n_swapped]
        found.append(100 * np.isin(first, swapped).sum() / n_swapped)
    shown = ", ".join(f"{value:.1f}" for value in found)
    return [name, f"{len(truth):,}", str(len(classes)), shown, f"{np.mean(found):.1f}"]
