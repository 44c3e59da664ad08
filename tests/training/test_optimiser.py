"""Rates, frozen trunk and stages, clipping and averaged weights: by arithmetic, on a run, and declared."""

from pathlib import Path

import pytest
import torch
from torch import nn

from fairground.errors import InputError
from fairground.spec import OptimiserSpec, load_run, parse_overrides
from fairground.training import Checkpoints, Training, WeightAverage, rate_factor
from fairground.training.assemble import assemble
from tests.training.tiny import tiny, tiny_words


def factors(n=10, *, epochs=2, n_batches=5, **settings):
    spec = OptimiserSpec(**settings)
    return [rate_factor(spec, step, epochs=epochs, n_batches=n_batches) for step in range(n)]


def test_factors_by_hand():
    assert factors() == [1.0] * 10
    # Warm-up over 2 steps, then half a cosine over the other 8: at its middle, step 6, it is one half.
    cosine = factors(schedule="cosine", warmup_epochs=0.4)
    assert cosine[:3] == [0.5, 1.0, 1.0]
    assert cosine[6] == pytest.approx(0.5)
    assert cosine[9] == pytest.approx(0.0380602)
    assert factors(schedule="step", step_epochs=1, step_factor=0.5) == [1.0] * 5 + [0.5] * 5


def test_an_average_by_hand():
    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(0.0)
    average = WeightAverage(model, 0.5)
    average.start()
    model.weight.data.fill_(1.0)
    average.update()  # d = min(0.5, 2 / 11): 9 / 11
    average.update()  # d = min(0.5, 3 / 12): 9 / 44 * 1 + 3 / 4 = 0.9545...
    with average.in_place():
        assert model.weight.item() == pytest.approx(1 - (2 / 11) * (3 / 12))
    assert model.weight.item() == 1.0


def training(tmp_path, *words):
    spec = tiny(*words)
    return Training(parts=assemble(spec), checkpoints=Checkpoints(tmp_path))


@pytest.mark.parametrize(("epochs", "moves"), [(1, False), (2, True)])
def test_the_trunk_rests_and_then_moves(tmp_path, epochs, moves):
    found = training(tmp_path, "optimiser.frozen_trunk_epochs=1", f"training.epochs={epochs}")
    model = found.parts.model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found.train()
    after = model.state_dict()
    moved = {name.partition(".")[0] for name in after if not torch.equal(before[name], after[name])}
    assert moved == ({"head", "trunk"} if moves else {"head"})


def test_rates_follow_the_schedule_in_every_group(tmp_path):
    words = ("optimiser.schedule=step", "optimiser.step_epochs=1", "optimiser.step_factor=0.5", "training.epochs=2")
    found = training(tmp_path, *words, "optimiser.head_lr=0.002", "optimiser.lr=0.001")
    found.train()
    rates = [group["lr"] for group in found.parts.stepper.optimiser.param_groups]
    assert rates[:2] == [0.0005, 0.001]


def test_the_gradient_is_no_longer_than_asked(tmp_path):
    found = training(tmp_path, "optimiser.clip_norm=1e-3", "training.epochs=1")
    found.train()
    weights = [weight for group in found.parts.stepper.optimiser.param_groups for weight in group["params"]]
    total = torch.sqrt(sum((weight.grad**2).sum() for weight in weights if weight.grad is not None))
    assert float(total) <= 1e-3 * (1 + 1e-4)


def test_averaged_weights_are_the_ones_selected(tmp_path):
    found = training(tmp_path, "optimiser.average=0.9", "training.epochs=1")
    found.train()
    last = {name: value.clone() for name, value in found.parts.model.named_parameters()}
    found.use_best()
    average = found.parts.stepper.average.state()
    for name, weight in found.parts.model.named_parameters():
        assert torch.equal(weight, average[name])
    assert any(not torch.equal(last[name], weight) for name, weight in found.parts.model.named_parameters())


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"average": 1.0}, r"optimiser.average must be in \[0, 1\)"),
        ({"clip_norm": -1.0}, "optimiser.clip_norm must be at least 0; got -1"),
        ({"step_epochs": 3}, "are for optimiser.schedule=step"),
        ({"step_epochs": 0, "schedule": "step"}, "optimiser.step_epochs must be at least 1; got 0"),
    ],
)
def test_refusals(settings, complaint):
    with pytest.raises(InputError, match=complaint):
        OptimiserSpec(**settings)


def test_a_frozen_trunk_needs_something_else_to_train():
    words = [word for word in tiny_words() if not word.startswith("head.")]
    with pytest.raises(InputError, match="frozen_trunk_epochs leaves nothing to train: head identity and loss"):
        assemble(load_run(overrides=parse_overrides([*words, "head=identity", "optimiser.frozen_trunk_epochs=1"])))


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
    changed = [name for name in before if not before[name].equal(after[name])]
    moved = {name.split(".")[2] if "stages" in name else "head" for name in changed}
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
