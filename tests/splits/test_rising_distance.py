"""Splits of rising distance, and those that were published for Cars196."""

import json

import numpy as np
import pytest
from scipy.linalg import sqrtm

from fairground.contracts import ImageTable
from fairground.errors import InputError
from fairground.loading import FeatureRows
from fairground.splits import OodmlCars196Split, RisingDistanceSplit
from fairground.splits.rising_distance import class_distance, levels_of_sides


def table_of(n_classes: int = 12, each: int = 4, d: int = 5) -> ImageTable:
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_classes), each)
    rows = generator.normal(size=(n_classes, d))[labels] + 0.1 * generator.normal(size=(len(labels), d))
    names = tuple(f"class {number}" for number in range(n_classes))
    return ImageTable(images=FeatureRows(rows.astype(np.float32), origin="here"), labels=labels, class_names=names)


def test_the_distance_is_frechets() -> None:
    means = np.random.default_rng(1).normal(size=(20, 4))
    first, second = np.arange(9), np.arange(9, 20)
    one, two = means[first], means[second]
    spread = np.cov(one.T), np.cov(two.T)
    slow = ((one.mean(0) - two.mean(0)) ** 2).sum() + np.trace(
        spread[0] + spread[1] - 2 * sqrtm(spread[0] @ spread[1]).real
    )
    assert class_distance(means, first, second) == pytest.approx(slow, rel=1e-8)
    # By hand: two pairs on a line, centres 4 apart, variances 2 and 8: 16 + (sqrt 2 - sqrt 8)^2.
    line = np.array([[0.0], [2.0], [3.0], [7.0]])
    assert class_distance(line, np.array([0, 1]), np.array([2, 3])) == pytest.approx(16 + 2)


def test_levels_rise_swap_first_and_remove_then() -> None:
    means = np.random.default_rng(2).normal(size=(16, 3))
    levels = list(levels_of_sides(means, np.arange(8), np.arange(8, 16), 1))
    distances = [distance for *_, distance in levels]
    assert distances == sorted(distances)
    assert levels[0][0].tolist() == list(range(8))
    for train, test, distance in levels:
        assert not set(train) & set(test)
        assert len(train) == len(test) >= 4
        assert distance == pytest.approx(class_distance(means, train, test))
    swapped = [level for level in levels if len(level[0]) == 8]
    assert len(levels) > len(swapped) > 1
    # The first swap, by hand: the class of each side that is nearest to the other side, against its own.
    centres = means[:8].mean(0), means[8:].mean(0)

    def pull(number: int) -> float:
        own, other = centres if number < 8 else centres[::-1]
        return float(np.linalg.norm(means[number] - other) - np.linalg.norm(means[number] - own))

    leaves, comes = min(range(8), key=pull), min(range(8, 16), key=pull)
    assert set(levels[1][0]) == set(range(8)) - {leaves} | {comes}
    # The first removal leaves the largest distance that removing one training class can leave.
    before, after = swapped[-1], levels[len(swapped)]
    left = [class_distance(means, np.delete(before[0], place), before[1]) for place in range(8)]
    assert set(after[0]) == set(before[0]) - {before[0][int(np.argmax(left))]}


def test_easier_levels_swap_the_other_way_while_the_distance_falls() -> None:
    # By hand, centres 0.5 and 10.5: 0 and 11 are furthest from the other side, so they go first. After that, both
    # places rest and 1 and 10 would make the first split again.
    line = np.array([[0.0], [1.0], [10.0], [11.0]])
    levels = list(levels_of_sides(line, np.array([0, 1]), np.array([2, 3]), 1, is_easier=True))
    assert [(set(train), set(test)) for train, test, _ in levels] == [({0, 1}, {2, 3}), ({3, 1}, {2, 0})]
    assert [distance for *_, distance in levels] == pytest.approx([100.0, 1.0])
    # Against a slow loop that keeps a list of who may not move.
    means = np.random.default_rng(3).normal(size=(80, 3)) + np.repeat([[0.0], [1.0]], 40, axis=0)
    sides, resting, slow = [list(range(40)), list(range(40, 80))], ([], []), []
    while not slow or len(slow) < 2 or slow[-1] < slow[-2]:
        slow.append(class_distance(means, *map(np.array, sides)))
        centres = [means[side].mean(0) for side in sides]
        places = []
        for own in (0, 1):
            away = [
                np.linalg.norm(means[c] - centres[1 - own]) - np.linalg.norm(means[c] - centres[own])
                for c in sides[own]
            ]
            places.append(max((place for place in range(40) if place not in resting[own][-30:]), key=away.__getitem__))
            resting[own].append(places[-1])
        (one, other), (left, right) = sides, places
        one[left], other[right] = other[right], one[left]
    levels = levels_of_sides(means, np.arange(40), np.arange(40, 80), 1, is_easier=True)
    found = [distance for *_, distance in levels]
    assert len(found) > 3
    assert found == pytest.approx(slow[:-1])


def test_rows_follow_classes_and_the_distance_is_kept(tmp_path) -> None:
    table = table_of()
    plain, far = (RisingDistanceSplit(level=level, swaps=1).parts(table) for level in (0, 2))
    assert far.distance > plain.distance
    assert set(table.labels[plain.test]) == set(range(6, 12))
    assert set(table.labels[far.test]) != set(range(6, 12))
    near = RisingDistanceSplit(level=-1, swaps=1).parts(table)
    assert near.distance < plain.distance
    assert len(far.train) + len(far.validation) + len(far.test) == len(table.labels)
    np.savez(tmp_path / "features.npz", embeddings=table.images.take(np.arange(48)).numpy())
    again = RisingDistanceSplit(level=2, swaps=1, features=str(tmp_path / "features.npz")).parts(table)
    assert all(np.array_equal(one, other) for one, other in zip(far[:3], again[:3], strict=True))
    assert again.distance == pytest.approx(far.distance)


def test_refusals(tmp_path) -> None:
    table = table_of()
    with pytest.raises(InputError, match=r"split.level of these classes must be at most \d+; got 99"):
        RisingDistanceSplit(level=99).parts(table)
    with pytest.raises(InputError, match=r"split.level of these classes must be at least -?\d+; got -99"):
        RisingDistanceSplit(level=-99).parts(table)
    np.savez(tmp_path / "few.npz", features=np.zeros((3, 2)))
    np.savez(tmp_path / "other.npz", rows=np.zeros((48, 2)))
    with pytest.raises(InputError, match=r"one row per image; got 3 rows for 48 images"):
        RisingDistanceSplit(features=str(tmp_path / "few.npz")).parts(table)
    with pytest.raises(InputError, match="has neither features nor embeddings"):
        RisingDistanceSplit(features=str(tmp_path / "other.npz")).parts(table)
    with pytest.raises(InputError, match="is for Cars196: 12 classes of the data are none of its 196"):
        OodmlCars196Split().parts(table)


def test_published_splits_have_the_published_sizes() -> None:
    from fairground.splits import oodml_cars196

    names = [line.rpartition(",")[0] for line in oodml_cars196._FILE.read_text().splitlines()[1:]]
    # Folders cannot have a slash, and data sets quote names differently.
    names = tuple(json.loads(name) if name.startswith('"') else name.replace("/", "-") for name in names)
    table = ImageTable(
        images=FeatureRows(np.zeros((392, 2), np.float32), origin="here"), labels=np.arange(392) // 2, class_names=names
    )
    sizes, standard = [], []
    for number in range(1, 9):
        found = OodmlCars196Split(number=number).parts(table)
        sizes.append(tuple(len(np.unique(table.labels[rows])) for rows in found[:3]))
        standard.append(set(table.labels[found.test]))
    assert sizes == [(73, 25, 98)] * 5 + [(64, 22, 86), (55, 19, 74), (46, 16, 62)]
    assert [len(standard[0] & other) for other in standard] == [98, 92, 82, 78, 68, 47, 42, 36]
