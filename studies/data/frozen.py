"""What the frozen features are worth before any training: one row for each file that `features.py` has written.

R@1 and MAP@R are those of the test half, by cosine: of the 1280 features as they are, and of their projection onto the
principal axes of the training half, which never sees a test picture.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fairground.datasets.features import FeaturesDataset
from fairground.errors import DataError, FairgroundError, require
from fairground.evaluation import evaluate

METRICS = ("recall@1", "map@r")
DIMS = (512, 128)
HEADER = ("set", "train", "test", "shared with ImageNet-1k", "R@1", "MAP@R")


def row(summary: Path, *, dims: Sequence[int] = DIMS) -> list[str]:
    """Return the row of one file of features, whose summary is named."""
    known = json.loads(summary.read_text(encoding="utf-8"))
    table = FeaturesDataset(path=str(summary.with_name(known["file"]))).load()
    assert table.official_test is not None
    features = table.images.take(np.arange(len(table.labels))).numpy()
    is_test = table.official_test
    tested = [features[is_test]]
    tested += [projected(features[~is_test], features[is_test], dim=dim) for dim in dims]
    groups = None if table.groups is None else table.groups[is_test]
    scores = [evaluate(each, table.labels[is_test], metrics=METRICS, groups=groups) for each in tested]
    halves = [_in_words(known["set"][half]) for half in ("train", "test")]
    numbers = [f"{100 * score[metric]:.1f}" for score in scores for metric in METRICS]
    return [known["set"]["title"], *halves, overlap_in_words(known["set"]["overlap"]), *numbers]


def projected(fitted: np.ndarray, features: np.ndarray, *, dim: int) -> np.ndarray:
    """Return features (n, dim) on the first principal axes of `fitted`, centred by its mean, not scaled."""
    mean = fitted.mean(axis=0, dtype=np.float64)
    centred = fitted.astype(np.float64) - mean
    _, axes = np.linalg.eigh(centred.T @ centred)
    # eigh lists the smallest eigenvalue first.
    return np.asarray(((features - mean) @ axes[:, ::-1][:, :dim]).astype(np.float32))


def overlap_in_words(overlap: dict[str, Any]) -> str:
    """Return an overlap for people: its level and how much is known of it."""
    n_shared, n_images = len(overlap["shared"]), overlap["n_images"]
    if overlap["level"] == "images":
        return f"images ({n_images} counted) and {n_shared} classes"
    return f"{n_shared} {overlap['level']}"


def _in_words(half: Sequence[int]) -> str:
    classes, images = half
    return f"{images:,} of {classes} classes"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table of a folder of features as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "folder", metavar="FEATURES_FOLDER", type=Path, help="the folder that features.py has written to"
    )
    folder = parser.parse_args(arguments).folder
    try:
        summaries = sorted(path for path in folder.glob("*.json") if path.with_suffix(".npz").is_file())
        require(len(summaries) > 0, f"'{folder}' has no features with a summary; run features.py first", DataError)
        header = [*HEADER, *(f"PCA {dim}: {metric}" for dim in DIMS for metric in HEADER[-2:])]
        print(f"| {' | '.join(header)} |")
        print("|" + "---|" * len(header))
        for summary in summaries:
            print(f"| {' | '.join(row(summary))} |", flush=True)
    except FairgroundError as error:
        print(f"Refused: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
