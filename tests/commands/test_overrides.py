"""Keywords are the overrides of the command line: the same run, the same name."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairground.commands.overrides import keyword_overrides
from fairground.spec.identity import name_of
from fairground.spec.load import load_run
from tests.commands.test_commands import fairground


@pytest.mark.parametrize(
    ("settings", "overrides"),
    [
        ({"loss": "margin", "seed": 3}, {"loss": "margin", "seed": 3}),
        ({"miner": None, "regulariser": "none"}, {"miner": None, "regulariser": None}),
        ({"loss": {"name": "margin", "beta": 1.2}}, {"loss": "margin", "loss.beta": 1.2}),
        ({"optimiser": {"lr": 3e-4, "name": "adamw"}}, {"optimiser.lr": 3e-4, "optimiser.name": "adamw"}),
        ({"trunk": {"widths": (8, 16)}}, {"trunk.widths": [8, 16]}),
        ({"data": {"root": Path("my photos")}}, {"data.root": "my photos"}),
        ({"data": {"root": "2024"}}, {"data.root": "2024"}),
        ({"seed": np.int64(4), "loss.margin": np.float64(0.5)}, {"seed": 4, "loss.margin": 0.5}),
        ({"loss.inner": {"margin": 0.1}}, {"loss.inner": {"margin": 0.1}}),
    ],
)
def test_a_keyword_is_an_override(settings, overrides):
    found = keyword_overrides(settings)
    assert found == overrides
    assert [type(value) for value in found.values()] == [type(value) for value in overrides.values()]


def test_what_cannot_be_in_a_spec_is_refused():
    with pytest.raises(ValueError, match=r"loss must be text, a number, .*; got object"):
        keyword_overrides({"loss": object()})
    with pytest.raises(ValueError, match=r"'loss\.beta' is given twice"):
        keyword_overrides({"loss": {"beta": 1}, "loss.beta": 2})


def test_the_same_overrides_name_the_same_run(capsys):
    settings = {"loss": "margin", "miner": "distance_weighted", "seed": 3, "optimiser": {"lr": 3e-4}, "loss.beta": 1}
    typed = ("loss=margin", "miner=distance_weighted", "seed=3", "optimiser.lr=3e-4", "loss.beta=1.0")
    assert fairground("train", "--protocol", "laptop", *typed, "--dry-run", "--json") == 0
    spec = load_run(protocol="laptop", overrides=keyword_overrides(settings))
    assert name_of(spec) == json.loads(capsys.readouterr().out)["name"]
