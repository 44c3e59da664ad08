"""The toy spaces: what the paper says of its three is true of ours, and settings are refused in sentences."""

import pytest

from fairground.datasets.toy_spaces import ToySpacesDataset
from fairground.errors import InputError
from fairground.evaluation import evaluate
from fairground.splits.listed import ListedSplit

METRICS = ["recall@1", "nmi", "f1", "r_precision", "map@r"]


def scores(space: str) -> dict[str, float]:
    table = ToySpacesDataset(space=space).load()
    rows = ListedSplit().parts(table).test
    return evaluate(table.images.take(rows).numpy(), table.labels[rows], metrics=METRICS, normalise=False)


def test_recall_and_clusters_cannot_tell_the_spaces_apart_and_map_at_r_can():
    stripes, blocks, bands = (scores(space) for space in ("stripes", "blocks", "bands"))
    for space in (stripes, blocks, bands):
        assert space["recall@1"] > 0.99
        assert space["nmi"] < 0.02
        assert space["f1"] == pytest.approx(0.5, abs=0.01)
    assert stripes["map@r"] < blocks["map@r"] - 0.1 < bands["map@r"] - 0.2
    assert stripes["r_precision"] < blocks["r_precision"] < bands["r_precision"]


def test_two_classes_train_two_validate_and_two_test():
    table = ToySpacesDataset(space="blocks", per_class=10).load()
    parts = ListedSplit().parts(table)
    assert [len(rows) for rows in (parts.train, parts.validation, parts.test)] == [20, 20, 20]
    assert table.class_names[4:] == ("test A", "test B")
    assert table.images.channels == 2


def test_refusals():
    with pytest.raises(InputError, match=r"toy_spaces\.space must be one of stripes, blocks, bands; got 'rings'"):
        ToySpacesDataset(space="rings")
    with pytest.raises(InputError, match=r"toy_spaces\.per_class must be 8 or more"):
        ToySpacesDataset(per_class=3)
