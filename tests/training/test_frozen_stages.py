"""Which stages train: the others keep weights and statistics, and what cannot be cut is refused in a sentence."""

from pathlib import Path

import pytest
import torch

from fairground.errors import InputError
from fairground.training import Checkpoints, Training
from fairground.training.assemble import assemble
from tests.training.tiny import tiny


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize("trainable", ["last:1", "head"])
def test_frozen_stages_keep_weights_and_statistics_and_the_rest_moves(trainable: str, tmp_path: Path) -> None:
    spec = tiny(f"training.trainable={trainable}", "training.views=0")
    parts = assemble(spec)
    before = {name: value.clone() for name, value in parts.model.state_dict().items()}
    training = Training(parts=parts, checkpoints=Checkpoints(tmp_path))
    training.begin()
    training.parts.model.train()
    training.parts.loader.start_epoch()
    training.batch()
    after = parts.model.state_dict()
    moved = {
        name.split(".")[2] if "stages" in name else "head" for name in before if not before[name].equal(after[name])
    }
    assert moved == ({"1", "head"} if trainable == "last:1" else {"head"})


def test_a_trunk_cut_in_two_gives_what_the_uncut_one_gives() -> None:
    model = assemble(tiny("training.trainable=last:1")).model.eval()
    images = torch.rand(3, 1, 16, 16)
    hidden = model.frozen_output(images)
    expected = model(images)
    model.trunk.is_past_frozen = True
    assert torch.equal(model(hidden), expected)
    uncut = assemble(tiny()).model.eval()
    assert torch.equal(uncut(images), expected)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["training.trainable=last"], "training.trainable must be all, head, or last:N .* got 'last'"),
        (["training.trainable=last:0"], "got 'last:0'"),
        (["training.views=-1"], "training.views must be at least 0; got -1"),
        (["training.trainable=last:2"], "small_conv has 2 stages, so .* must be all, head, or last:1 to last:1; got"),
        (["training.trainable=head", "regulariser=manifold_mixup"], "mixes samples before one"),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        assemble(tiny(*words))
