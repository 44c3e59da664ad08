"""Looking one batch ahead changes no digit, and a state taken meanwhile speaks of the batch not yet trained on."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.loading.image_dataset import ImagesInMemory
from fairground.spec.run_spec import ComponentSpec
from fairground.training.assemble import assemble, load_table
from fairground.training.batch_loader import Loader
from tests.training.tiny import tiny


class SlowImages(ImagesInMemory):
    """Images in memory that pretend to be slow."""

    is_slow = True


def loader(*, is_slow: bool, sampler: str = "per_class", chunk: int = 0) -> Loader:
    found = assemble(tiny(f"sampler={sampler}")).loader
    found.chunk = chunk
    pixels = found.images.take(np.arange(len(found.images))).numpy()
    found.images = (SlowImages if is_slow else ImagesInMemory)(pixels)
    return found


def test_batches_made_ahead_are_the_batches_made_on_demand() -> None:
    ahead, plain = loader(is_slow=True), loader(is_slow=False)
    for step in range(7):
        one, other = ahead.draw(is_last=step == 4), plain.draw(is_last=step == 4)
        assert torch.equal(one.rows, other.rows)
        assert torch.equal(one.images, other.images)


@pytest.mark.parametrize(("sampler", "chunk"), [("per_class", 0), ("uniform", 0), ("balanced", 5)])
def test_a_state_taken_while_a_batch_is_made_ahead_gives_that_batch_again(sampler: str, chunk: int) -> None:
    first, second = (loader(is_slow=True, sampler=sampler, chunk=chunk) for _ in range(2))
    for _ in range(3):
        first.draw(is_last=False)
    state = {group: {name: value.clone() for name, value in items.items()} for group, items in first.state().items()}
    following = [first.draw(is_last=False) for _ in range(4)]
    second.draw(is_last=False)
    second.load_state(state)
    for batch in following:
        again = second.draw(is_last=False)
        assert torch.equal(again.rows, batch.rows)
        assert torch.equal(again.images, batch.images)


@pytest.mark.parametrize("is_slow", [False, True])
def test_images_made_in_chunks_are_those_of_the_batch_each_time(is_slow: bool) -> None:
    whole, chunked = loader(is_slow=is_slow), loader(is_slow=is_slow, chunk=5)
    for step in range(4):
        one, other = whole.draw(is_last=step == 2), chunked.draw(is_last=step == 2)
        assert torch.equal(one.rows, other.rows)
        n = len(one.rows)
        assert [len(chunk) for chunk in other.chunks] == [5] * (n // 5) + [n % 5] * (n % 5 > 0)
        assert len(other.chunks) == -(-n // 5)
        for _ in range(2):
            assert torch.equal(torch.cat(list(other.chunks)), one.images)
        assert torch.equal(other.images, one.images)


def features_file(path: Path, shift: float = 0.0) -> ComponentSpec:
    rows = np.arange(24.0).reshape(12, 2) + shift
    np.savez(path, features=rows.astype(np.float16), labels=np.repeat(np.arange(4), 3))
    return ComponentSpec(name="features", settings={"path": str(path), "labels": ""})


def test_a_file_is_loaded_once_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = features_file(tmp_path / "f.npz")
    first = load_table(part)
    again = load_table(part)
    assert again.table is first.table
    features_file(tmp_path / "f.npz", shift=1.0)
    os.utime(tmp_path / "f.npz", ns=(1, 1))
    changed = load_table(part)
    assert changed.table is not first.table
    assert changed.fingerprint != first.fingerprint
