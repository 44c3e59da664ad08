"""Fixed tuples: what the file lists, together, and nothing else."""

import numpy as np
import pytest

from fairground.errors import DataError, InputError
from fairground.samplers import FixedTuplesSampler
from tests.samplers.splits import draws, even_split

LABELS = even_split(5, 10)
TUPLES = [[i, i + 1, (7 * i) % 50] for i in range(20)]


@pytest.fixture(params=["csv", "txt", "npz"])
def listed(request, tmp_path):
    path = tmp_path / f"tuples.{request.param}"
    if request.param == "npz":
        np.savez(path, tuples=np.array(TUPLES, dtype=np.int32))
    else:
        separator = "," if request.param == "csv" else " "
        path.write_text("".join(separator.join(map(str, one)) + "\n" for one in TUPLES), encoding="utf-8")
    return str(path)


def test_a_pass_holds_every_tuple_once_and_whole(listed):
    sampler = FixedTuplesSampler(labels=LABELS, batch_size=15, file=listed)
    assert sampler.n_batches == 4
    entries = [row for batch in draws(sampler, 4) for row in batch]
    groups = [entries[i : i + 3] for i in range(0, 60, 3)]
    assert sorted(groups) == sorted(TUPLES)
    assert groups != TUPLES


def test_the_order_of_the_file_can_be_kept(listed):
    sampler = FixedTuplesSampler(labels=LABELS, batch_size=12, file=listed, shuffle=False)
    assert draws(sampler, 1)[0] == [row for one in TUPLES[:4] for row in one]


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("t.csv", "0,1,2\n3,4\n", "cannot be read as tuples of whole numbers"),
        ("t.csv", "0,1,x\n", "cannot be read as tuples of whole numbers"),
        ("t.txt", "0.5 1 2\n", "cannot be read as tuples of whole numbers"),
        ("t.npz", "not an archive", "cannot be read as tuples of whole numbers"),
        ("t.csv", "", "must list tuples of whole numbers, one per row"),
        ("t.json", "[]", r"sampler\.file must end in \.csv, \.txt or \.npz; got 't\.json'"),
        ("t.csv", "0,1,50\n" * 5, r"must list rows in 0\.\.49, the training split; got 0\.\.50"),
        ("t.csv", "0,1,-1\n" * 5, r"must list rows in 0\.\.49, the training split; got -1\.\.1"),
        ("t.csv", "0,1,2\n" * 3, "lists 3 tuples; a batch of 12 takes 4"),
        ("t.csv", "0,1,2,3,4\n" * 9, "have 5 images each: the batch size must be a multiple; got 12"),
    ],
)
def test_files_that_cannot_be_used_are_refused(tmp_path, name, text, complaint):
    with pytest.raises(InputError, match=complaint):
        FixedTuplesSampler(labels=LABELS, batch_size=12, file=write(tmp_path, name, text))


def test_a_missing_file_and_pickled_arrays_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"sampler\.file must be a file that can be read; there is none at"):
        FixedTuplesSampler(labels=LABELS, batch_size=12, file=str(tmp_path / "none.csv"))
    np.savez(tmp_path / "pickled.npz", tuples=np.array([[1, 2], None], dtype=object))
    with pytest.raises(InputError, match="cannot be read as tuples of whole numbers"):
        FixedTuplesSampler(labels=LABELS, batch_size=12, file=str(tmp_path / "pickled.npz"))
    np.savez(tmp_path / "floats.npz", tuples=np.ones((5, 3)))
    with pytest.raises(DataError, match="must list tuples of whole numbers, one per row; got float64"):
        FixedTuplesSampler(labels=LABELS, batch_size=12, file=str(tmp_path / "floats.npz"))
