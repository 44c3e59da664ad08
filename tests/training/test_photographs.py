"""Training from image files: read a batch ahead, from the cache or decoded, stopped in mid-epoch, same digits."""

from pathlib import Path

import pytest

from tests.loading.pictures import photo
from tests.training.stopping import stop_and_resume
from tests.training.tiny import spec_of


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    for label in range(12):
        (folder / f"class{label:02d}").mkdir()
        for number in range(6):
            picture = photo(40 + number, 52 - label, seed=100 * label + number)
            picture.save(folder / f"class{label:02d}" / f"{number}.jpg")
    return folder


WORDS = (
    *("data=folder", "transform=photographs", "transform.side=32", "transform.shorter_side=36", "transform.hue=0.1"),
    *("trunk.widths=[8, 16]", "head.embedding_dim=16", "sampler.per_class=4"),
    *("training.batch_size=8", "training.epochs=2", "training.batches_per_epoch=5"),
)


@pytest.mark.parametrize("prepared", [0, 36])
def test_a_run_stopped_while_a_batch_is_made_ahead_ends_with_the_same_digits(
    prepared: int, root: Path, tmp_path: Path
) -> None:
    spec = spec_of(*WORDS, f"data.root={root}", f"data.prepared={prepared}")
    assert stop_and_resume(spec, tmp_path, 3, 4).state == "done"
