import numpy as np
import pytest

from fairground.recommendation.cross_validation import ClassFolds


def folds(n_classes, per_class=3, seed=0):
    labels = np.repeat(np.arange(n_classes), per_class)
    return ClassFolds(rows=np.arange(len(labels)) + 100, labels=labels, seed=seed)


@pytest.mark.parametrize(("n_classes", "expected"), [(4, 2), (10, 2), (12, 3), (18, 4), (300, 4)])
def test_folds_have_four_classes_or_more_where_there_are_enough(n_classes, expected):
    assert folds(n_classes).n_folds == expected


def test_every_class_validates_once_a_repeat_and_never_trains_in_its_fold():
    made = folds(10)
    for repeat in range(3):
        held = []
        for train, validation in made.repeat(repeat):
            assert not set((train - 100) // 3) & set((validation - 100) // 3)
            assert sorted([*train, *validation]) == list(range(100, 130))
            assert len(train) >= made.least_training_rows
            held += ((validation - 100) // 3).tolist()
        assert sorted(held) == sorted(list(range(10)) * 3)


def test_classes_of_one_row_only_train():
    made = ClassFolds(rows=np.arange(7), labels=np.array([0, 0, 1, 1, 2, 2, 3]), seed=0)
    assert made.classes.tolist() == [0, 1, 2]
    assert all(6 in train for train, _ in made.repeat(0))


def test_blocks_are_classes_where_they_are_few_and_groups_where_they_are_many():
    assert sorted(folds(5).blocks(np.arange(5.0))) == [0, 1, 2, 3, 4]
    many = folds(60).blocks(np.arange(60.0))
    assert len(many) == 24
    assert np.mean(many) == pytest.approx(29.5, abs=2)
