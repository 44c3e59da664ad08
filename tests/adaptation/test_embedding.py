import numpy as np
import pytest
import torch
from torch import nn

from fairground.adaptation.array_cache import ArrayCache
from fairground.adaptation.embedding import fill, round_robin
from fairground.errors import DataError


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path))


def doubled():
    network = nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 2.0)
    return network


def read(images, rows):
    if images is not None and set(images) & set(rows.tolist()):
        raise DataError("cannot be read")
    return torch.from_numpy(rows.astype(np.float32))[:, None]


def test_every_beginning_of_the_order_has_pairs_of_all_classes():
    labels = np.repeat(np.arange(5), 10)
    order = round_robin(np.arange(50) + 7, labels, 0)
    assert sorted(order) == list(range(7, 57))
    assert np.bincount(labels[order[:10] - 7]).tolist() == [2] * 5
    assert np.bincount(labels[order[:20] - 7]).tolist() == [4] * 5


def test_it_stops_with_the_time_and_goes_on_where_it_was():
    rows, times, heard = np.arange(100), [], []
    cache = ArrayCache(["a"], n=100, shape=(1,))
    fill(
        cache,
        doubled(),
        None,
        rows,
        read,
        is_time=lambda: times.append(1) or len(times) < 2,
        tell=lambda *x: heard.append(x),
    )
    assert cache.readable(rows).tolist() == list(range(64))
    assert heard == [(0, 100), (32, 100), (64, 100)]
    again = ArrayCache(["a"], n=100, shape=(1,))
    fill(again, doubled(), None, rows, read)
    assert again.values[:, 0].tolist() == [2.0 * row for row in range(100)]
    assert len(again.missing(rows)) == 0
    assert again.n_bytes == 400


def test_another_key_is_another_cache_and_a_damaged_one_is_made_anew():
    cache = ArrayCache(["a"], n=4, shape=(1,))
    fill(cache, doubled(), None, np.arange(4), read)
    assert len(ArrayCache(["b"], n=4, shape=(1,)).missing(np.arange(4))) == 4
    (cache.folder / "values.npy").write_bytes(b"nonsense")
    assert len(ArrayCache(["a"], n=4, shape=(1,)).readable(np.arange(4))) in (0, 4)


def test_pictures_that_cannot_be_read_are_left_out():
    cache = ArrayCache(["c"], n=10, shape=(1,))
    fill(cache, doubled(), [3, 7], np.arange(10), read)
    assert cache.readable(np.arange(10)).tolist() == [0, 1, 2, 4, 5, 6, 8, 9]
    assert len(cache.missing(np.arange(10))) == 0
