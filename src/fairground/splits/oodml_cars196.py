"""The eight published ooDML splits of Cars196, each with test classes further from the training classes.

Formula
    as listed; the Fréchet distances of class means in the authors' features rise from 8.6 to 123.0

Paper
    Milbich, Roth, Sinha, Schmidt, Ghassemi and Ommer, "Characterizing Generalization under Out-Of-Distribution Shifts
    in Deep Metric Learning", NeurIPS 2021.

Departures from the paper
    None: these are the classes of the authors' file, with their validation classes. Splits 6 to 8 leave classes out.
"""

import csv
import re
from pathlib import Path

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require

_FILE = Path(__file__).parent / "data" / "oodml_cars196.csv"
#: the distance of each split, as published
_DISTANCES = (8.59, 14.3, 32.2, 43.6, 63.3, 86.1, 101.2, 123.0)


class OodmlCars196Split(Split):
    """`number` 1 is the standard split into halves, 8 the furthest."""

    bounds = {"number": "[1, 8]"}

    def __init__(self, *, number: int = 1) -> None:
        self.number = number

    def divide(self, table: ImageTable) -> SplitRows:
        with _FILE.open(encoding="utf-8", newline="") as file:
            part_of = {_key(row["label"]): row["parts"][self.number - 1] for row in csv.DictReader(file)}
        unknown = [name for name in table.class_names if _key(name) not in part_of]
        shown = f"{len(unknown)} classes of the data are none of its 196: {', '.join(unknown[:3])}"
        require(not unknown, f"split oodml_cars196 is for Cars196: {shown}", DataError)
        parts = np.array([part_of[_key(name)] for name in table.class_names])[table.labels]
        train, validation, test = (np.flatnonzero(parts == letter) for letter in "tvs")
        return SplitRows(train=train, validation=validation, test=test, distance=_DISTANCES[self.number - 1])


def _key(name: str) -> str:
    """Return a name as folders and the authors' list share it: letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
