import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.errors import DataError, InputError
from fairground.splits import ClosedSetSplit
from tests.splits.tables import classes_of, table_of


def test_each_class_gives_its_share_to_each_part():
    table = table_of(np.repeat(np.arange(3), 10))
    parts = ClosedSetSplit().parts(table)
    for rows, n in ((parts.train, 6), (parts.validation, 2), (parts.test, 2)):
        assert np.bincount(table.labels[rows]).tolist() == [n, n, n]
    assert parts.is_closed_set


def test_another_seed_chooses_other_images_and_the_same_seed_the_same():
    table = table_of(np.repeat(np.arange(4), 25))
    tests = [ClosedSetSplit(seed=seed).parts(table).test.tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


@given(st.lists(st.integers(0, 6), min_size=30, max_size=80), st.sampled_from([0.1, 0.2, 0.45]))
def test_parts_cover_every_image_once_and_every_class_trains(labels, fraction):
    # Numbered without gaps, and one class large enough to be tested on.
    table = table_of(np.unique([*labels, *[7] * 10], return_inverse=True)[1])
    parts = ClosedSetSplit(validation=fraction, test=fraction).parts(table)
    together = np.sort(np.concatenate([parts.train, parts.validation, parts.test]))
    assert together.tolist() == list(range(len(table.labels)))
    assert classes_of(table, parts.train) == sorted(set(table.labels.tolist()))


def test_refusals():
    with pytest.raises(InputError, match=r"closed_set.test must be above 0 and below 1; got 0"):
        ClosedSetSplit(test=0)
    with pytest.raises(InputError, match=r"must be below 1, so that something trains; got 0.5 \+ 0.5"):
        ClosedSetSplit(validation=0.5, test=0.5)
    with pytest.raises(DataError, match="the test split is empty"):
        ClosedSetSplit().parts(table_of([0, 1, 2]))
