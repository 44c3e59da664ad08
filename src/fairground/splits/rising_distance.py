"""Splits of rising distance: classes are swapped, then removed, until test classes are far from training classes.

Formula
    distance   = |m1 - m2|^2 + tr S1 + tr S2 - 2 tr (S1 S2)^(1/2), of the class means of both sides (Fréchet)
    level 0    the halves of `half_classes`
    a level    swaps `swaps` pairs: training classes in order of d(x, m2) - d(x, m1), test classes in order of
               d(x, m1) - d(x, m2), each the first whose place was not among the last five swapped
    once swaps lower the distance, a level removes `swaps` classes of each side instead, each time the one whose removal
    raises the distance most, while half of the classes are left
    a level below 0 is easier: it swaps in the reversed order, with thirty resting places, as long as the distance falls

Paper
    Milbich, Roth, Sinha, Schmidt, Ghassemi and Ommer, "Characterizing Generalization under Out-Of-Distribution Shifts
    in Deep Metric Learning", NeurIPS 2021; class means and the order of swaps as in the authors' code.

Departures from the paper
    Features are those given, not ResNet-50's. The authors' code removes the classes that a swap would have exchanged,
    and only where that swap did not lower the distance, so that it removes where swapping would have helped; the text
    removes what is nearest. Here removal is what raises the distance most.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from fairground.contracts.split import DataError, ImageTable, Split, SplitRows, require
from fairground.records.arrays import array_names, read_arrays
from fairground.splits._halves import class_halves, classes_by_draw

#: places that were swapped last and rest, on the way to harder and to easier splits
RESTING, RESTING_IF_EASIER = 5, 30


class RisingDistanceSplit(Split):
    """`level` is how far along: 0 for plain halves, each next one further, and -1, -2 ... each nearer.

    `features` is an .npz with `features` or `embeddings` of every row in order, as `fairground embed` writes it; data
    that are features need none. `validation` is the fraction of the training classes that validates.
    """

    bounds = {"level": "(-inf, inf)", "swaps": "[1, inf)", "validation": "[0, 1)", "seed": "[0, inf)"}

    def __init__(
        self, *, level: int = 0, swaps: int = 2, features: str = "", validation: float = 0.25, seed: int = 0
    ) -> None:
        self.level, self.swaps, self.features = level, swaps, features
        self.validation, self.seed = validation, seed

    def divide(self, table: ImageTable) -> SplitRows:
        seen, test = class_halves(table)
        sides = seen, np.unique(table.labels[test])
        means = _class_means(table, self.features)
        n, is_easier = abs(self.level), self.level < 0
        levels = list(islice(levels_of_sides(means, *sides, self.swaps, is_easier=is_easier), n + 1))
        limit = f"least {1 - len(levels)}" if is_easier else f"most {len(levels) - 1}"
        require(len(levels) > n, f"split.level of these classes must be at {limit}; got {self.level}", DataError)
        train, tested, distance = levels[-1]
        order = np.array(classes_by_draw(table, train, self.seed), np.int64)
        n_validation = round(self.validation * len(order))
        parts = (order[n_validation:], order[:n_validation], tested)
        learnt, validation, test = (np.flatnonzero(np.isin(table.labels, classes)) for classes in parts)
        return SplitRows(train=learnt, validation=validation, test=test, distance=distance)


def class_distance(means: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """Return the Fréchet distance of two sets of class means; the trace of the root is a nuclear norm."""
    sides = [means[first], means[second]]
    centres = [side.mean(0) for side in sides]
    spread = [(side - centre) / np.sqrt(max(1, len(side) - 1)) for side, centre in zip(sides, centres, strict=True)]
    total = ((centres[0] - centres[1]) ** 2).sum() + sum((side**2).sum() for side in spread)
    return float(total - 2 * np.linalg.norm(spread[0] @ spread[1].T, "nuc"))


def levels_of_sides(
    means: np.ndarray, train: np.ndarray, test: np.ndarray, swaps: int, *, is_easier: bool = False
) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield training classes, test classes and their distance, level by level: 0, 1, 2 ... or 0, -1, -2 ..."""
    sign, n_resting = (-1, RESTING_IF_EASIER) if is_easier else (1, RESTING)
    resting: list[deque[int]] = [deque(maxlen=n_resting) for _ in range(2)]
    swapped, reached = (train, test), -np.inf
    while sign * (distance := class_distance(means, *swapped)) > reached:
        (train, test), reached = swapped, sign * distance
        yield train, test, distance
        swapped = _swapped(means, train, test, swaps, resting, sign)
    least = max(2, (len(train) + len(test)) // 4)
    while not is_easier and min(len(train), len(test)) - swaps >= least:
        for _ in range(swaps):
            train = np.delete(train, _furthest_without(means, train, test))
            test = np.delete(test, _furthest_without(means, test, train))
        yield train, test, class_distance(means, train, test)


def _swapped(
    means: np.ndarray, train: np.ndarray, test: np.ndarray, swaps: int, resting: list[deque[int]], sign: int
) -> tuple[np.ndarray, np.ndarray]:
    centres = means[train].mean(0), means[test].mean(0)
    # How much nearer to the centre of the test classes each class is, the most so lowest.
    nearer = np.linalg.norm(means - centres[1], axis=1) - np.linalg.norm(means - centres[0], axis=1)
    orders = [np.argsort(sign * pull, kind="stable") for pull in (nearer[train], -nearer[test])]
    train, test = train.copy(), test.copy()
    for number in range(swaps):
        free = [
            [slot for slot in order[number:] if slot not in rest] for order, rest in zip(orders, resting, strict=True)
        ]
        if not all(free):
            break
        mine, theirs = (slots[0] for slots in free)
        train[mine], test[theirs] = test[theirs], train[mine]
        resting[0].append(mine)
        resting[1].append(theirs)
    return train, test


def _furthest_without(means: np.ndarray, side: np.ndarray, other: np.ndarray) -> int:
    """Return the place whose removal leaves the largest distance."""
    return int(np.argmax([class_distance(means, np.delete(side, place), other) for place in range(len(side))]))


def _class_means(table: ImageTable, file: str) -> np.ndarray:
    refusal = "split rising_distance needs features: of pictures give split.features, which `fairground embed` writes"
    require(bool(file) or not table.images.is_picture, refusal)
    if file:
        path = Path(file).expanduser()
        name = next((name for name in ("features", "embeddings") if name in array_names(path)), "")
        require(bool(name), f"split.features: {path} has neither features nor embeddings", DataError)
        rows = read_arrays(path, [name])[name]
    else:
        rows = table.images.take(np.arange(len(table.labels))).numpy()
    refusal = f"split.features: one row per image; got {len(rows)} rows for {len(table.labels)} images"
    require(len(rows) == len(table.labels), refusal, DataError)
    sums = np.zeros((int(table.labels.max()) + 1, rows.shape[1]))
    np.add.at(sums, table.labels, rows.astype(np.float64))
    return sums / np.maximum(np.bincount(table.labels), 1)[:, None]
