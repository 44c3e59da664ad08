import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.errors import DataError, InputError
from fairground.splits import MlrcFoldsSplit
from tests.splits.tables import classes_of, table_of


def spans(text):
    """Return the classes of '73-97,0-48' in that order."""
    ends = [span.split("-") for span in text.split(",")]
    return [label for low, high in ends for label in range(int(low), int(high) + 1)]


#: data set: number of classes, test classes, then train and validation classes of the four folds, as published
PUBLISHED = {
    "cub200": (200, "100-199", ["0-74 75-99", "25-99 0-24", "50-99,0-24 25-49", "75-99,0-49 50-74"]),
    "cars196": (196, "98-195", ["0-73 74-97", "24-97 0-23", "49-97,0-24 25-48", "73-97,0-48 49-72"]),
    "sop": (
        22634,
        "11317-22633",
        ["0-8487 8488-11316", "2829-11316 0-2828", "5658-11316,0-2828 2829-5657", "8487-11316,0-5657 5658-8486"],
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_table_comes_out_exactly(name):
    n_classes, test, folds = PUBLISHED[name]
    table = table_of(np.arange(n_classes))
    for fold, (train, validation) in enumerate(pair.split() for pair in folds):
        parts = MlrcFoldsSplit(fold=fold).parts(table)
        assert classes_of(table, parts.train) == sorted(spans(train))
        assert classes_of(table, parts.validation) == sorted(spans(validation))
        assert classes_of(table, parts.test) == spans(test)


@pytest.mark.parametrize(("name", "never"), [("cub200", []), ("cars196", [24, 73]), ("sop", [8487])])
def test_the_classes_that_never_validate_are_those_of_the_erratum(name, never):
    n_classes = PUBLISHED[name][0]
    table = table_of(np.arange(n_classes))
    validated = {label for fold in range(4) for label in MlrcFoldsSplit(fold=fold).parts(table).validation.tolist()}
    assert sorted(set(range(n_classes // 2)) - validated) == never


def test_halves_go_by_position_even_where_the_data_marks_an_official_half():
    labels = np.repeat(np.arange(16), 2)
    table = table_of(labels, official_test=labels < 4)
    assert classes_of(table, MlrcFoldsSplit().parts(table).test) == list(range(8, 16))


def test_labels_with_gaps_count_by_their_place():
    labels = np.arange(16) * 3 + 1
    table = table_of(labels)
    parts = MlrcFoldsSplit(fold=1).parts(table)
    assert table.labels[parts.validation].tolist() == labels[:2].tolist()


@given(n_classes=st.integers(8, 200), n_folds=st.integers(2, 4), data=st.data())
def test_parts_cover_everything_and_share_no_class(n_classes, n_folds, data):
    fold = data.draw(st.integers(0, n_folds - 1))
    table = table_of(np.random.default_rng(n_classes).permutation(np.repeat(np.arange(n_classes), 2)))
    parts = MlrcFoldsSplit(fold=fold, n_folds=n_folds).parts(table)
    together = np.sort(np.concatenate([parts.train, parts.validation, parts.test]))
    assert together.tolist() == list(range(2 * n_classes))
    assert len(classes_of(table, parts.train)) == n_classes // 2 - n_classes // (2 * n_folds)


def test_refusals():
    with pytest.raises(InputError, match=r"mlrc_folds.fold must be in 0..3 for 4 folds; got 4"):
        MlrcFoldsSplit(fold=4)
    with pytest.raises(InputError, match=r"mlrc_folds.n_folds must be 2 or more; got 1"):
        MlrcFoldsSplit(n_folds=1)
    with pytest.raises(DataError, match=r"mlrc_folds.n_folds = 4 needs 8 classes or more; there are 7"):
        MlrcFoldsSplit().parts(table_of(np.arange(7)))
