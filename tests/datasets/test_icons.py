import csv

import numpy as np
import pytest
import torch

from fairground.datasets import IconsDataset, SyntheticDataset, icons
from fairground.evaluation import evaluate


@pytest.fixture(scope="module")
def table():
    return IconsDataset().load()


def write(path, **changes):
    """Write a well-formed file of two icons, some arrays said otherwise; None leaves one out."""
    arrays = {
        "images": np.zeros((2, 48, 48), np.uint8),
        "labels": np.array([0, 1], np.int16),
        "class_names": np.array(["anchor", "bell"]),
        "split": np.array([0, 1], np.uint8),
        "source_set": np.array(["one", "two"]),
        "source_name": np.array(["anchor", "bell-filled"]),
    }
    np.savez(path, **{name: array for name, array in (arrays | changes).items() if array is not None})
    return str(path)


def test_the_shipped_set_has_the_size_its_page_says(table):
    sizes = np.bincount(table.labels)
    assert (len(table.labels), len(table.class_names)) == (7853, 293)
    assert (sizes.min(), sizes.max()) == (15, 65)
    images = table.images.take(np.arange(len(table.labels)))
    assert images.dtype == torch.uint8
    assert images.shape == (7853, 1, 32, 32)


def test_the_halves_share_no_class(table):
    halves = [set(table.labels[table.official_test == half].tolist()) for half in (False, True)]
    assert [len(half) for half in halves] == [143, 150]
    assert not halves[0] & halves[1]


def test_no_image_is_there_twice(table):
    images = table.images.take(np.arange(len(table.labels))).flatten(1).numpy()
    assert len(np.unique(images, axis=0)) == len(images)
    assert len(set(table.identifiers)) == len(table.identifiers)


def test_classes_are_in_alphabetical_order_and_free_of_well_known_synonyms(table):
    assert list(table.class_names) == sorted(table.class_names)
    for pair in (("megaphone", "bullhorn"), ("shopping-cart", "cart"), ("bell", "bell-off"), ("undo", "redo")):
        assert pair[0] in table.class_names
        assert pair[1] not in table.class_names


def test_raw_pixels_score_as_the_page_says(table):
    rows = np.flatnonzero(table.official_test)
    pixels = table.images.take(rows).flatten(1).float()
    scores = evaluate(torch.nn.functional.normalize(pixels), table.labels[rows], metrics=["recall@1", "map@r"])
    assert scores["recall@1"] == pytest.approx(0.558, abs=0.001)
    assert scores["map@r"] == pytest.approx(0.121, abs=0.001)


def test_every_set_is_attributed_with_its_licence_and_its_number_of_images(table):
    with icons.SHIPPED.with_name("icons-attribution.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    sets = [identifier.partition(":")[0] for identifier in table.identifiers]
    assert {row["prefix"]: int(row["n_images"]) for row in rows} == {name: sets.count(name) for name in set(sets)}
    free = {"MIT", "Apache-2.0", "ISC", "CC0-1.0", "BSD-3-Clause", "Unlicense", "OFL-1.1", "CC-BY-4.0", "CC-BY-3.0"}
    assert {row["licence"] for row in rows} <= free
    assert all(row["name"] and row["author"] for row in rows)
    assert all(row[url].startswith("http") for row in rows for url in ("url", "licence_url"))


def test_another_file_of_the_same_kind_can_be_named(tmp_path):
    table = IconsDataset(path=write(tmp_path / "large.npz")).load()
    assert table.class_names == ("anchor", "bell")
    assert table.official_test.tolist() == [False, True]
    assert table.identifiers == ("one:anchor", "two:bell-filled")
    assert table.images.take(np.array([1])).shape == (1, 1, 48, 48)


def counts(**settings):
    return np.bincount(SyntheticDataset(**settings).load().labels).tolist()


def test_it_gives_the_images_that_were_asked_for():
    table = SyntheticDataset(n_classes=5, per_class=3, size=16, channels=3).load()
    images = table.images.take(np.arange(15))
    assert images.dtype == torch.uint8
    assert images.shape == (15, 3, 16, 16)
    assert table.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert table.class_names[:2] == ("class-0000", "class-0001")
    assert table.official_test.tolist() == [False] * 9 + [True] * 6


def test_the_seed_decides_everything():
    first, again, other = (SyntheticDataset(seed=seed).load().images.fingerprint() for seed in (1, 1, 2))
    assert first == again != other


def test_without_noise_and_shift_the_images_of_a_class_are_one_pattern():
    table = SyntheticDataset(n_classes=2, per_class=4, noise=0, shift=0).load()
    images = table.images.take(np.arange(8)).float()
    assert (images[:4] == images[0]).all()
    assert (images[4:] == images[4]).all()
    # 128 + 64 * a pattern of mean 0 and deviation 1, less what clipping takes.
    assert images[0].mean().item() == pytest.approx(128, abs=2)
    assert images[0].std().item() == pytest.approx(64, abs=4)


def test_imbalance_is_the_ratio_of_the_largest_to_the_smallest_class_of_each_half():
    assert counts(n_classes=6, per_class=16, imbalance=16) == [16, 4, 1, 16, 4, 1]
    assert counts(n_classes=4, per_class=5) == [5, 5, 5, 5]
