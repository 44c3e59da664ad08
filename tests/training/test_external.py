"""Parts from outside the repository, named by dotted path."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from fairground.contracts.loss import Loss, Tuples
from fairground.errors import InputError
from fairground.losses import ContrastiveLoss
from fairground.training.outside_parts import ExternalLoss
from fairground.training.run import run
from tests.training.tiny import tiny

pml_losses = pytest.importorskip("pytorch_metric_learning.losses", reason="pytorch-metric-learning is not installed")
pml_miners = pytest.importorskip("pytorch_metric_learning.miners")


class HomeMadeLoss(Loss):
    """The mean distance of everything from everything, for a user who wants no classes at all."""

    def __init__(self, *, weight: float = 1.0) -> None:
        super().__init__()
        self.weight = weight

    def formula(
        self, embeddings: Tensor, labels: Tensor, tuples: Tuples | None, *, generator: torch.Generator | None
    ) -> Tensor:
        return self.weight * embeddings.square().mean()


class RawModule(nn.Module):
    """A module that knows nothing of us."""

    def forward(self, embeddings: Tensor, labels: Tensor) -> Tensor:
        return (embeddings.mean(0) * 0).sum() + embeddings.std(0).sum()


HERE = "tests.training.test_external"


@pytest.mark.parametrize(
    "words",
    [
        ["loss=pytorch_metric_learning.losses:ArcFaceLoss", "loss.margin=20"],
        ["loss=pytorch_metric_learning.losses:TripletMarginLoss", "miner=distance_weighted"],
        ["loss=triplet", "miner=pytorch_metric_learning.miners:DistanceWeightedMiner"],
        [f"loss={HERE}:HomeMadeLoss", "loss.weight=0.5"],
        [f"loss={HERE}:RawModule"],
    ],
)
def test_an_outside_part_trains_repeats_and_keeps_the_record(words: list[str], tmp_path: Path) -> None:
    spec = tiny("training.epochs=1", *words)
    record = run(spec, home=tmp_path / "a")
    assert record.state == "done"
    assert run(spec, home=tmp_path / "b").digits() == record.digits()


def test_an_outside_loss_gives_what_it_gives_by_itself() -> None:
    embeddings, labels = torch.randn(12, 4), torch.arange(12) // 3
    ours = ExternalLoss(module=pml_losses.ContrastiveLoss())(embeddings, labels)
    assert torch.allclose(ours, ContrastiveLoss()(embeddings, labels))


def test_settings_an_outside_class_does_not_take_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no setting 'loss.gama'. Did you mean 'gamma'\?"):
        run(tiny("loss=pytorch_metric_learning.losses:CircleLoss", "loss.gama=3"), home=tmp_path)
