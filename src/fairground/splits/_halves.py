"""The two halves every zero-shot split begins with: classes to learn from, and rows of classes kept for the end."""

import hashlib

import numpy as np

from fairground.contracts.split import DataError, ImageTable, SplitRows, require


def class_halves(table: ImageTable) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels (k,) to learn and validate on, sorted, and the rows (m,) of the other classes.

    These are the official halves where the table marks them, otherwise the first and second half by label; an odd class
    out is learnt from, not tested on.
    """
    if table.official_test is not None:
        is_test = table.official_test.astype(bool)
        return np.unique(table.labels[~is_test]), np.flatnonzero(is_test)
    classes = np.unique(table.labels)
    require(len(classes) >= 3, f"train, validation and test need a class each; the data has {len(classes)}", DataError)
    seen = classes[: (len(classes) + 1) // 2]
    return seen, np.flatnonzero(~np.isin(table.labels, seen))


def rows_to_learn(table: ImageTable, classes: np.ndarray) -> np.ndarray:
    """Return the rows of `classes` outside the official test half."""
    mine = np.isin(table.labels, classes)
    return np.flatnonzero(mine if table.official_test is None else mine & ~table.official_test.astype(bool))


def classes_by_draw(table: ImageTable, classes: np.ndarray, seed: int) -> list[int]:
    """Return the classes in an order that `seed` and their names alone decide, on every machine and for ever."""

    def draw(label: int) -> tuple[str, int]:
        return hashlib.sha256(f"{seed}:{table.class_names[label]}".encode()).hexdigest(), label

    return sorted(classes.tolist(), key=draw)


def validated_by_draw(
    name: str, table: ImageTable, order: list[int], validation: float, test: np.ndarray, hint: str = ""
) -> SplitRows:
    """Return a split in which the first classes of `order`, a fraction `validation` of them, validate."""
    n_validation = round(validation * len(order))
    is_both = n_validation < len(order) and (n_validation > 0) == (validation > 0)
    left = f"leaves {n_validation} to validate and {len(order) - n_validation} to train on; each needs one at least"
    require(is_both, f"{name}.validation = {validation} of {len(order)} classes {left}", DataError)
    return SplitRows(
        train=rows_to_learn(table, np.array(order[n_validation:])),
        validation=rows_to_learn(table, np.array(order[:n_validation], dtype=np.int64)),
        test=test,
        for_two_classes=hint,
    )


def rows_by_draw(table: ImageTable, rows: np.ndarray, fractions: tuple[float, ...], seed: int) -> list[np.ndarray]:
    """Return rows dealt out within each class: a fraction of it to each part, rounded half up, and the rest last.

    A class too small for a fraction gives nothing to it. Which rows go where depends on `seed`, the class name and the
    row's place in the class.
    """
    dealt: list[list[int]] = [[] for _ in range(len(fractions) + 1)]
    labels = table.labels[rows]
    order = np.argsort(labels, kind="stable")
    for members in np.split(rows[order], np.flatnonzero(np.diff(labels[order])) + 1):
        name = table.class_names[int(table.labels[members[0]])]
        draws = [hashlib.sha256(f"{seed}:{name}:{place}".encode()).digest() for place in range(len(members))]
        drawn = members[np.array(sorted(range(len(members)), key=draws.__getitem__))]
        begin = 0
        for part, fraction in zip(dealt, fractions, strict=False):
            # One image of every class is left for the last part, which trains.
            end = min(begin + int(fraction * len(members) + 0.5), len(members) - 1)
            part.extend(drawn[begin:end].tolist())
            begin = end
        dealt[-1].extend(drawn[begin:].tolist())
    return [np.array(sorted(part), dtype=np.int64) for part in dealt]
