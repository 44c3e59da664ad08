"""What frozen stages gave, kept on disk: the stated error, marks after numbers, and refusals in a sentence."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.errors import InputError, StoreError
from fairground.loading.resized_images import find_cache, list_caches, remove_cache
from fairground.training.stage_cache import StageCache, saved_shape


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageCache:
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path))
    return StageCache(folder=tmp_path / "stages" / "abcdef", n_rows=10, shape=(3, 2, 4), about={"trunk": "small_conv"})


def test_what_is_read_is_what_was_written_within_the_stated_error(cache: StageCache) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(4, 3, 2, 4, generator=generator) * torch.logspace(-9, 4, 4).view(4, 1, 1, 1)
    rows = np.array([7, 2, 9, 0])
    assert cache.missing("plain", rows).tolist() == [7, 2, 9, 0]
    cache.write("plain", rows, outputs)
    found = cache.laid_out(cache.read("plain", rows), torch.device("cpu"))
    assert found.shape == outputs.shape
    assert found.is_contiguous(memory_format=torch.channels_last)
    allowed = (outputs.abs() * 2.0**-11).clamp(min=2.0**-25)
    assert bool(((found - outputs).abs() <= allowed).all())
    assert cache.missing("plain", np.arange(10)).tolist() == [1, 3, 4, 5, 6, 8]
    assert cache.missing("view-0000", rows).tolist() == [7, 2, 9, 0]
    assert saved_shape(cache.folder) == (3, 2, 4)


def test_numbers_that_float16_cannot_hold_are_refused(cache: StageCache) -> None:
    cache.missing("plain", np.arange(2))
    for number in (70000.0, float("nan")):
        with pytest.raises(InputError, match=r"numbers that float16 cannot represent.*training.views=0"):
            cache.write("plain", np.array([1]), torch.full((1, 3, 2, 4), number))
    with pytest.raises(InputError, match=r"give \(3, 2, 2\) for training images but \(3, 2, 4\)"):
        cache.write("plain", np.array([1]), torch.zeros(1, 3, 2, 2))
    assert cache.missing("plain", np.arange(2)).tolist() == [0, 1]


def test_one_process_computes_a_chunk(cache: StageCache) -> None:
    cache.open()
    with cache.lock("plain", 0) as first, cache.lock("plain", 0) as second, cache.lock("plain", 1) as other:
        assert (first, second, other) == (True, False, True)
        with pytest.raises(InputError, match="is being worked on"):
            remove_cache(find_cache(list_caches(), "abc"))


def test_a_cache_removed_under_a_reader_begins_anew(cache: StageCache) -> None:
    cache.missing("plain", np.arange(3))
    cache.write("plain", np.arange(3), torch.ones(3, 3, 2, 4))
    (entry,) = list_caches()
    assert (entry.kind, entry.trunk, entry.n_images) == ("stages", "small_conv", 10)
    remove_cache(entry)
    assert list_caches() == []
    assert cache.missing("plain", np.arange(3)).tolist() == [0, 1, 2]


def test_a_damaged_row_is_computed_again(cache: StageCache) -> None:
    cache.missing("plain", np.arange(3))
    cache.write("plain", np.arange(3), torch.ones(3, 3, 2, 4))
    cache.refuse("plain", 5)
    file = cache.folder / "plain.bin"
    data = bytearray(file.read_bytes())
    data[cache.row_bytes + 3] ^= 1
    file.write_bytes(data)
    again = StageCache(folder=cache.folder, n_rows=10, shape=(3, 2, 4))
    assert again.missing("plain", np.array([0, 1, 2, 5])).tolist() == [1]
    again.write("plain", np.array([1]), torch.ones(1, 3, 2, 4))
    assert again.missing("plain", np.array([0, 1, 2, 5])).tolist() == []
    assert again.readable("plain", np.arange(10)).tolist() == [0, 1, 2]


def test_a_full_disk_is_said_before_anything_is_computed(cache: StageCache) -> None:
    cache.open()
    with pytest.raises(StoreError, match=r"lower training\.views"):
        cache.require_space(10**15)
