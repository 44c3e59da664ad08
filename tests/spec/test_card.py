"""The declaration cards of the papers' protocols hold the papers' numbers."""

import dataclasses

import pytest

from fairground.spec.card import declaration
from fairground.spec.load import load_run, protocol_names
from fairground.spec.run import RunSpec


def spec(protocol: str, *words: str) -> RunSpec:
    return load_run(protocol=protocol, overrides=words, unsaid="somewhere")


@pytest.mark.parametrize(
    ("data", "epochs", "recalls"),
    [("cub200", 150, "recall@8"), ("cars196", 150, "recall@8"), ("sop", 100, "recall@1000")],
)
def test_roths_protocol(data: str, epochs: int, recalls: str) -> None:
    found = spec(f"roth2020-{data}")
    card = declaration(found)
    assert (found.training.batch_size, found.training.epochs, found.training.batches_per_epoch) == (112, epochs, 0)
    assert found.trunk.name == "resnet50"
    assert found.trunk.settings["weights"] == "imagenet"
    assert found.head.settings["embedding_dim"] == 128
    assert (found.optimiser.name, found.optimiser.lr, found.optimiser.weight_decay) == ("adam", 1e-5, 4e-4)
    assert found.optimiser.loss_weight_decay == 0
    assert found.sampler.settings["per_class"] == 2
    assert recalls in card["metrics"]
    assert card["selection"] == "TEST SPLIT, looked at every epoch; each metric is reported at its own best epoch"
    assert card["test split"].startswith("OPEN FROM THE START")
    assert card["batch norm"] == "statistics frozen, weights learnt"


@pytest.mark.parametrize(
    ("name", "batch", "every", "patience"),
    [("cub200", 32, 2, 9), ("cars196", 32, 5, 14), ("sop", 32, 20, 39), ("cub200-batch256", 256, 2, 9)],
)
def test_mlrcs_protocol(name: str, batch: int, every: int, patience: int) -> None:
    found = spec(f"mlrc2020-{name}", "loss=contrastive@mlrc")
    assert found.training.batch_size == batch
    assert (found.training.validate_every, found.training.patience) == (every, patience)
    assert (found.training.epochs, found.training.batches_per_epoch) == (1000, 100)
    assert (found.optimiser.name, found.optimiser.lr, found.optimiser.momentum) == ("rmsprop", 1e-6, 0.9)
    assert (found.optimiser.weight_decay, found.optimiser.loss_weight_decay) == (1e-4, 1e-4)
    assert found.trunk.name == "bn_inception"
    assert found.loss.settings["negative_margin"] == 0.3841
    card = declaration(found)
    assert card["selection"] == f"best map@r on the validation split, looked at every {every} epochs"
    assert card["test split"] == "sealed until the model is selected, then opened once"


@pytest.mark.parametrize("name", protocol_names())
def test_a_card_says_every_setting_of_every_part(name: str) -> None:
    found = spec(name)
    words = " ".join(declaration(found).values())
    for field in dataclasses.fields(found):
        part = getattr(found, field.name)
        for setting in getattr(part, "settings", {}):
            assert setting in words


def test_the_margin_losss_beta_has_no_weight_decay_in_mlrc() -> None:
    assert spec("mlrc2020-cub200", "loss=margin@mlrc-cub200").optimiser.loss_weight_decay == 0
