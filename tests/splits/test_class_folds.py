import numpy as np
import pytest

from fairground.errors import InputError
from fairground.splits import ClassFoldsSplit
from tests.splits.tables import classes_of, table_of


def test_folds_are_blocks_of_classes_in_order():
    table = table_of(np.repeat(np.arange(16), 2))
    validation = [classes_of(table, ClassFoldsSplit(fold=fold).parts(table).validation) for fold in range(4)]
    assert validation == [[0, 1], [2, 3], [4, 5], [6, 7]]
    parts = ClassFoldsSplit(fold=1).parts(table)
    assert classes_of(table, parts.train) == [0, 1, 4, 5, 6, 7]
    assert classes_of(table, parts.test) == list(range(8, 16))


def test_blocks_differ_by_one_class_at_most_and_every_seen_class_validates_once():
    table = table_of(np.repeat(np.arange(20), 2))
    blocks = [classes_of(table, ClassFoldsSplit(fold=fold, n_folds=3).parts(table).validation) for fold in range(3)]
    assert [len(block) for block in blocks] == [4, 3, 3]
    assert [label for block in blocks for label in block] == list(range(10))


def test_the_official_test_half_is_never_in_a_fold():
    table = table_of([0, 1, 2, 3], official_test=[0, 1, 0, 1])
    parts = ClassFoldsSplit(fold=1, n_folds=2).parts(table)
    assert (parts.train.tolist(), parts.validation.tolist(), parts.test.tolist()) == ([0], [2], [1, 3])


@pytest.mark.parametrize("fold", [-1, 4])
def test_a_fold_out_of_range_is_refused(fold):
    with pytest.raises(InputError, match=rf"class_folds.fold must be in 0..3 for 4 folds; got {fold}"):
        ClassFoldsSplit(fold=fold)
