"""The commands that replace powerful-benchmarker's: they exist, take these options, and mean the same settings."""

import pytest
import typer

from fairground.commands import app, main
from fairground.spec import load_run, load_study, parse_overrides
from tests.migration.page import TEXT, commands, quoted, section, table, value_at

PAGE = section("powerful-benchmarker")
KEYS = table(PAGE, "key", "default", "ours")
COMMANDS = {name: typer.main.get_command(app).get_command(None, name) for name in main.COMMANDS}


@pytest.mark.parametrize("words", commands(TEXT), ids=lambda words: " ".join(words[:2]))
def test_every_command_of_the_page_is_one_with_these_options(words):
    options = {name for parameter in COMMANDS[words[0]].params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_lines_load():
    for words in commands(PAGE):
        if words[0] == "train":
            assert load_run(protocol=words[2], overrides=parse_overrides(words[3:])).split.name == "mlrc_folds"
        elif words[0] == "study":
            study = load_study(words[1], changes=parse_overrides(words[2:]))
            assert (study.search.trials, study.repeats) == (50, 10)


@pytest.mark.parametrize("row", [row for row in KEYS if row[1]], ids=lambda row: row[0])
def test_its_defaults_are_the_protocols(row):
    _, default, ours = row
    if ours.startswith("fixed"):
        return
    key, _, value = quoted(ours)[0].split()[0].partition("=")
    if key == "head" or key.startswith(("--", "folds")):
        return
    spec = load_run(protocol="mlrc2020-cub200", overrides={"data.root": "data"})
    found = value_at(spec, key)
    if key == "optimiser.head_lr":
        assert found is None
    elif value:
        assert found == value
    elif isinstance(found, bool):
        assert str(found) == default
    else:
        assert found == pytest.approx(float(default))
