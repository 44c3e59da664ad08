"""The split you list: in the data set's own table or folders, or in a file that names images or classes.

Formula
    train, validation and test as listed; rows the list leaves empty take no part
    no row listed as test: those listed as validation test, as in tables made for OpenMetricLearning
    none left to validate: round(validation * c) of the c training classes do, by hash of seed and class name

Paper
    None.

Departures from the paper
    Classes in two parts are refused, unless `closed_set` says that this is meant: every table then says so.
"""

from pathlib import Path

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require
from fairground.loading import held_out, parts_from_words, read_columns
from fairground.splits._halves import classes_by_draw, rows_by_draw


class ListedSplit(Split):
    """`file` is a CSV or Parquet file with a column `split` and a column `path` or `label`; empty for the data's own.

    `validation` is the fraction of the training classes that validates where the list names no such rows: of the
    training images of each class in a `closed_set`. Another `seed` chooses others.
    """

    bounds = {"validation": "[0, 1)", "seed": "[0, inf)"}

    def __init__(self, *, file: str = "", closed_set: bool = False, validation: float = 0.2, seed: int = 0) -> None:
        self.file, self.closed_set, self.validation, self.seed = file, closed_set, validation, seed

    def divide(self, table: ImageTable) -> SplitRows:
        listed = _from_file(table, Path(self.file).expanduser()) if self.file else table.listed_parts
        if listed is None:
            raise DataError("split listed: the data lists no parts; give a file in split.file, or name another split")
        is_test = held_out(listed)
        for part, there in (("train", listed == "train"), ("test", is_test)):
            require(bool(there.any()), f"split listed: the list names no image as {part}", DataError)
        train = np.flatnonzero(listed == "train")
        validation = np.flatnonzero((listed == "validation") & ~is_test)
        if not len(validation) and self.validation > 0:
            train, validation = self._held_back(table, train)
        test = np.flatnonzero(is_test)
        shared = np.intersect1d(table.labels[train], table.labels[test])
        first = table.class_names[shared[0]] if len(shared) else ""
        told = f"split listed: {len(shared)} classes train and test, the first is '{first}'"
        advice = "list whole classes, or say split.closed_set=true and have every table say so"
        refusal = f"{told}. Metric learning is judged on unseen classes; {advice}"
        require(self.closed_set or len(shared) == 0, refusal, DataError)
        return SplitRows(train=train, validation=validation, test=test, is_closed_set=self.closed_set)

    def _held_back(self, table: ImageTable, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what trains and what validates of the rows listed for training."""
        if self.closed_set:
            validation, rest = rows_by_draw(table, train, (self.validation,), self.seed)
            return rest, validation
        classes = np.unique(table.labels[train])
        n_validation = round(self.validation * len(classes))
        left = f"leaves {n_validation} to validate and {len(classes) - n_validation} to train on"
        asked = f"listed.validation = {self.validation} of {len(classes)} training classes"
        require(0 < n_validation < len(classes), f"{asked} {left}; each needs one at least", DataError)
        chosen = classes_by_draw(table, classes, self.seed)[:n_validation]
        is_held = np.isin(table.labels[train], chosen)
        return train[~is_held], train[is_held]


def _from_file(table: ImageTable, path: Path) -> np.ndarray:
    columns = read_columns(path)
    parts = parts_from_words(columns.text("split"), str(path))
    key = columns.pick("path", "label")
    require(key is not None, f"{path} needs a column path or a column label beside split", DataError)
    assert key is not None
    names = columns.text(key)
    known = {name: str(part) for name, part in zip(names, parts, strict=True)}
    require(len(known) == len(names), f"{path} names a {key} twice", DataError)
    if key == "path":
        require(table.identifiers is not None, f"{path} names images, but those of this data have no names", DataError)
        assert table.identifiers is not None
        own = list(table.identifiers)
    else:
        own = [table.class_names[label] for label in table.labels]
    strange = sorted(set(known) - set(own))
    refusal = f"{path} names {len(strange)} {key}s the data does not have: '{''.join(strange[:1])}'"
    require(not strange, refusal, DataError)
    return np.array([known.get(name, "") for name in own], dtype="<U10")
