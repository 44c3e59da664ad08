"""Every trunk in a whole run: a few steps, stopped and taken up again, to the same digits."""

from pathlib import Path

import pytest

from fairground.spec.catalogue import list_room
from fairground.spec.load import load_run
from fairground.training.run import run

SETTINGS = {
    "timm": ("trunk.model=test_resnet",),
    "small_conv": ("trunk.widths=[8, 16]",),
    "folded_conv": ("trunk.widths=[8, 16]",),
}
WORDS = (
    "data=synthetic",
    "data.n_classes=8",
    "data.per_class=4",
    "data.size=32",
    "head.embedding_dim=8",
    "optimiser.name=sgd",
    "training.batch_size=8",
    "training.epochs=1",
    "training.batches_per_epoch=2",
    "training.freeze_batch_norm=stats",
)


@pytest.mark.parametrize("trunk", [name for name in list_room("trunks") if name != "features"])
def test_a_few_steps_and_a_resume(trunk: str, tmp_path: Path) -> None:
    spec = load_run(overrides=[*WORDS, f"trunk={trunk}", *SETTINGS.get(trunk, ())])
    whole = run(spec, home=tmp_path / "whole")
    assert whole.state == "done", whole.failure
    batches = iter(range(100))
    with pytest.raises(KeyboardInterrupt):
        run(spec, home=tmp_path / "halved", should_stop=lambda: next(batches) == 0)
    assert run(spec, home=tmp_path / "halved").digits() == whole.digits()
