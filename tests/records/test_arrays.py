import numpy as np
import pytest

from fairground.errors import DataError
from fairground.records.arrays import read_arrays, write_arrays


def test_arrays_come_back_as_they_went(tmp_path):
    arrays = {"embeddings": np.arange(6.0).reshape(3, 2), "labels": np.array(["a", "b", "é"])}
    write_arrays(tmp_path / "a.npz", arrays)
    found = read_arrays(tmp_path / "a.npz", ["embeddings", "labels"])
    assert all((found[name] == arrays[name]).all() for name in arrays)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert sorted(file.files) == ["embeddings", "labels"]


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_arrays(tmp_path / name, {"labels": np.arange(9)})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_missing_array_is_named_with_the_nearest(tmp_path):
    np.savez(tmp_path / "a.npz", embedding=np.zeros(2))
    with pytest.raises(DataError, match=r"no array 'embeddings'. Did you mean 'embedding'\? It holds: embedding."):
        read_arrays(tmp_path / "a.npz", ["embeddings"])


def test_object_arrays_are_refused_both_ways(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    with pytest.raises(DataError, match="holds Python objects"):
        write_arrays(tmp_path / "a.npz", {"labels": objects})
    np.savez(tmp_path / "a.npz", labels=objects)
    with pytest.raises(DataError, match="refused because reading them could run code"):
        read_arrays(tmp_path / "a.npz", ["labels"])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"not an archive", b"\x80\x04N."])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataError, match=r"not a readable .npz file"):
        read_arrays(tmp_path / "a.npz", ["labels"])


def test_a_bare_array_and_a_missing_file_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    with pytest.raises(DataError, match="one bare array"):
        read_arrays(tmp_path / "a.npy", ["labels"])
    with pytest.raises(DataError, match="there is no file"):
        read_arrays(tmp_path / "b.npz", ["labels"])
