"""Write the features of a set that has no pictures, as `data=features` reads them, or refuse in a sentence."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from picture_set import Half

from fairground.errors import DataError, FairgroundError, require
from fairground.records.arrays import write_arrays


@dataclass(frozen=True, kw_only=True)
class Vectors:
    """Features (n, d) with the class, half and source of each; rows of one group are never compared."""

    features: np.ndarray
    names: Sequence[str]
    is_train: np.ndarray
    files: Sequence[str]
    groups: Sequence[str] | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the file."""
        class_names, labels = np.unique(self.names, return_inverse=True)
        found = {
            "features": self.features.astype(np.float16),
            "labels": labels.astype(np.int16),
            "class_names": class_names,
            "split": np.where(self.is_train, "train", "test"),
            "files": np.array(self.files),
        }
        if self.groups is not None:
            found["groups"] = np.unique(self.groups, return_inverse=True)[1].astype(np.int16)
        return found


def check_counts(found: Vectors, half: Half) -> None:
    """Refuse a copy with other numbers of classes or rows; both halves of these sets have the same."""
    for part, rows in (("train", found.is_train), ("test", ~found.is_train)):
        n_classes, n_rows = len(np.unique(np.array(found.names)[rows])), int(rows.sum())
        require(
            (n_classes, n_rows) == half,
            f"the {part} half must have {half.images:,} rows of {half.classes} classes; this copy has {n_rows:,} of "
            f"{n_classes}",
            DataError,
        )


def run(
    name: str,
    source: str,
    half: Half,
    vectors: Callable[[Path], Vectors],
    arguments: Sequence[str] | None = None,
) -> None:
    """Parse the command line of a set's script and write `NAME.npz`."""
    parser = argparse.ArgumentParser(description=f"Features of {name}. The source is a copy of {source}.")
    parser.add_argument(
        "repository", metavar="COPY_OF_REPOSITORY", type=Path, help="folder with the repository's files"
    )
    parser.add_argument("-o", "--out", metavar="FEATURES_FOLDER", type=Path, required=True, help="where the file goes")
    asked = parser.parse_args(arguments)
    try:
        found = vectors(asked.repository)
        check_counts(found, half)
    except (FairgroundError, OSError) as error:
        sys.exit(f"Refused: {error}; take a copy of {source}")
    asked.out.mkdir(parents=True, exist_ok=True)
    file = asked.out / f"{name}.npz"
    write_arrays(file, found.arrays())
    print(f"{file}: {found.features.shape[0]:,} rows of {found.features.shape[1]} numbers")
