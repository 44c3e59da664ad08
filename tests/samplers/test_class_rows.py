"""Rows of classes: the right ones, each as often as it should be."""

from collections import Counter

import pytest
import torch

from fairground.errors import DataError
from fairground.samplers._class_draws import ClassRows
from tests.samplers.splits import seeded

LABELS = torch.tensor([7, -2, 7, 9, 7, -2])


def test_classes_are_numbered_in_order_of_label():
    classes = ClassRows(LABELS)
    assert classes.n_classes == 3
    assert classes.sizes.tolist() == [2, 3, 1]
    assert classes.group.tolist() == [1, 0, 1, 2, 1, 0]
    assert classes.rows.tolist() == [1, 5, 0, 2, 4, 3]


def test_drawn_rows_are_of_their_class_and_differ():
    classes = ClassRows(LABELS)
    for seed in range(20):
        rows = classes.draw(torch.tensor([1, 0, 2, 1]), 2, seeded(seed)).tolist()
        assert set(rows[0]) < {0, 2, 4}
        assert set(rows[1]) == {1, 5}
        assert rows[2] == [3, 3]
        assert all(len(set(row)) == 2 for row in (rows[0], rows[1], rows[3]))


def test_partners_differ_from_all_picks_and_from_each_other_while_there_are_enough():
    labels = torch.tensor([0] * 8 + [1] * 3 + [2])
    classes = ClassRows(labels)
    picks = torch.tensor([0, 8, 5, 11])
    for seed in range(50):
        partners = classes.draw_partners(picks, 2, seeded(seed)).tolist()
        of_zero = [*partners[0], *partners[2], 0, 5]
        assert len(set(of_zero)) == 6
        assert set(of_zero) <= set(range(8))
        assert set(partners[1]) == {9, 10}
        assert partners[3] == [11, 11]


def test_partners_are_uniform_over_the_rest_of_the_class():
    classes = ClassRows(torch.tensor([0] * 5 + [1] * 4))
    generator = seeded()
    counts = Counter(classes.draw_partners(torch.tensor([2, 6]), 1, generator)[0, 0].item() for _ in range(1_200))
    assert set(counts) == {0, 1, 3, 4}
    assert all(abs(count - 300) < 5 * 225**0.5 for count in counts.values())


@pytest.mark.parametrize("labels", [torch.empty(0, dtype=torch.long), torch.zeros(3), torch.zeros(2, 2).long()])
def test_what_is_not_one_whole_number_an_image_is_refused(labels):
    with pytest.raises(DataError, match="a sampler takes one integer label per training image; got"):
        ClassRows(labels)
