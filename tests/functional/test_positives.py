import torch
from hypothesis import given
from hypothesis import strategies as some

from fairground.functional.pairs import list_positives


@given(some.lists(some.integers(-3, 3), max_size=12))
def test_every_row_lists_the_others_of_its_class_and_itself_where_there_are_none_left(labels):
    table = list_positives(torch.tensor(labels, dtype=torch.long))
    for i, label in enumerate(labels):
        expected = [j for j, other in enumerate(labels) if other == label and j != i]
        assert table.counts[i] == len(expected)
        assert table.rows[i][table.exists[i]].tolist() == expected
        assert (table.rows[i][~table.exists[i]] == i).all()


def test_the_table_is_as_wide_as_the_most_positives_any_row_has():
    assert list_positives(torch.tensor([5, 9, 5, 5])).rows.shape == (4, 2)
    assert list_positives(torch.tensor([1, 2])).rows.shape == (2, 0)
