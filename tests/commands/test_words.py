"""Keywords are the words of the command line: the same run, the same name."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairground.commands.words import words_of
from fairground.spec.identity import name_of
from fairground.spec.load import load_run
from fairground.spec.settings import parse_overrides
from tests.commands.test_commands import fairground

PLAIN = st.one_of(
    st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text(st.characters(codec="utf-8"))
)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"loss": "margin", "seed": 3}, ["loss=margin", "seed=3"]),
        ({"miner": None}, ["miner=none"]),
        ({"optimiser": {"lr": 3e-4, "name": "adamw"}}, ["optimiser.lr=0.0003", "optimiser.name=adamw"]),
        ({"loss": {"name": "margin", "beta": 1.2}}, ["loss=margin", "loss.beta=1.2"]),
        ({"loss.beta": 1}, ["loss.beta=1"]),
        ({"training": {"compile": True}}, ["training.compile=true"]),
        ({"trunk": {"widths": (8, 16)}}, ["trunk.widths=[8, 16]"]),
        ({"evaluation": {"metrics": ["map@r"]}}, ['evaluation.metrics=["map@r"]']),
        ({"data": {"root": Path("my photos")}}, ["data.root=my photos"]),
        ({"data": {"root": "2024"}}, ['data.root="2024"']),
        ({"data": {"root": "true"}}, ['data.root="true"']),
        ({"seed": np.int64(4), "loss.margin": np.float64(0.5)}, ["seed=4", "loss.margin=0.5"]),
        ({"loss.inner": {"margin": 0.1}}, ['loss.inner={"margin" = 0.1}']),
    ],
)
def test_a_keyword_is_a_word(settings, words):
    assert words_of(settings) == words


@given(value=st.one_of(PLAIN, st.lists(PLAIN), st.dictionaries(st.text(min_size=1), PLAIN)))
def test_a_value_is_read_back_as_it_was_said(value):
    (word,) = words_of({"loss.setting": value})
    read = parse_overrides([word])["loss.setting"]
    if isinstance(value, str) and value.lower() == "none":
        assert read is None
    else:
        assert read == value
        assert type(read) is type(value)


def test_what_no_spec_can_hold_is_refused():
    with pytest.raises(ValueError, match=r"loss must be text, a number, .*; got object"):
        words_of({"loss": object()})
    with pytest.raises(ValueError, match=r"trunk\.widths must be .*; got NoneType"):
        words_of({"trunk": {"widths": [None]}})


def test_the_same_words_name_the_same_run(capsys):
    settings = {"loss": "margin", "miner": "distance_weighted", "seed": 3, "optimiser": {"lr": 3e-4}, "loss.beta": 1}
    said = ("loss=margin", "miner=distance_weighted", "seed=3", "optimiser.lr=3e-4", "loss.beta=1.0")
    assert fairground("train", "--protocol", "laptop", *said, "--dry-run", "--json") == 0
    assert (
        name_of(load_run(protocol="laptop", overrides=words_of(settings)))
        == json.loads(capsys.readouterr().out)["name"]
    )
