"""Features of sets without pictures: what is written is read again, and other counts are refused."""

from pathlib import Path

import numpy as np
import pytest
import vectors
from picture_set import Half

from fairground.datasets.features import FeaturesDataset


def two_halves(_: Path) -> vectors.Vectors:
    return vectors.Vectors(
        features=np.eye(8),
        names=list("aabbccdd"),
        is_train=np.arange(8) < 4,
        files=[str(row) for row in range(8)],
        groups=list("01234567"),
    )


def test_features_of_counted_halves_are_written_and_others_refused(tmp_path: Path) -> None:
    vectors.run("tiny", "a source", Half(classes=2, images=4), two_halves, ["copy", "-o", str(tmp_path)])
    table = FeaturesDataset(path=str(tmp_path / "tiny.npz")).load()
    assert table.class_names == ("a", "b", "c", "d")
    assert table.official_test is not None
    assert table.official_test.tolist() == [False] * 4 + [True] * 4
    with pytest.raises(
        SystemExit, match=r"must have 5 rows of 2 classes; this copy has 4 of 2; take a copy of a source"
    ):
        vectors.run("other", "a source", Half(classes=2, images=5), two_halves, ["copy", "-o", str(tmp_path)])
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.npz"]
