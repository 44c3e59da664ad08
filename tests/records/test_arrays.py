import numpy as np
import pytest

from fairground.errors import DataError
from fairground.records.arrays import array_names, map_array, map_npy, read_arrays, write_arrays


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


def test_object_arrays_are_refused_both_ways(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    with pytest.raises(DataError, match="holds Python objects"):
        write_arrays(tmp_path / "a.npz", {"labels": objects})
    np.savez(tmp_path / "a.npz", labels=objects)
    with pytest.raises(DataError, match="cannot be read as arrays: it holds Python objects; save numbers or text"):
        read_arrays(tmp_path / "a.npz", ["labels"])


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"not an archive", b"\x80\x04N."])
def test_what_is_no_archive_is_refused(tmp_path, content):
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(DataError, match="cannot be read as arrays"):
        read_arrays(tmp_path / "a.npz", ["labels"])


def test_a_matrix_stays_on_disk_and_what_is_compressed_must_be_read(tmp_path):
    arrays = {"features": np.arange(6.0).reshape(3, 2), "labels": np.arange(3)}
    write_arrays(tmp_path / "a.npz", arrays)
    assert array_names(tmp_path / "a.npz") == ["features", "labels"]
    mapped = map_array(tmp_path / "a.npz", "features")
    assert isinstance(mapped, np.memmap)
    assert (mapped == arrays["features"]).all()
    assert map_array(tmp_path / "a.npz", "labels") is None
    np.save(tmp_path / "a.npy", np.asfortranarray(arrays["features"]))
    assert (map_npy(tmp_path / "a.npy") == arrays["features"]).all()
