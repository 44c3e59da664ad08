"""The command lines of Roth et al. and ours: the page's flags, read as a translator would, must say what ours say."""

import re

import pytest

from fairground.spec import load_run, parse_overrides
from tests.migration.page import blocks, quoted, section, table, value_at

PAGE = section("Revisiting Deep Metric Learning")
FLAGS = {flag: ours for flags, _, ours in table(PAGE, "flag", "default", "ours") for flag in quoted(flags)}
DEFAULTS = {flags: said for flags, said, _ in table(PAGE, "flag", "default", "ours")}
WORDS = {said: ours for words, ours in table(PAGE, "word", "ours") for said in quoted(words)}
LINES = re.findall(r"# (python main\.py .*)\nfairground train (.*)\n", blocks(PAGE, "sh")[0])
#: data set there -> here
SETS = {"cub200": "cub200", "cars196": "cars196", "online_products": "sop"}


def flags_of(line):
    """Return their flags with their values, True for a flag without one."""
    found = {}
    for said in re.split(r"\s--", line)[1:]:
        name, _, value = said.partition(" ")
        found[f"--{name}"] = value.strip() or True
    return found


def translated(flag, value):
    """Return our words for one flag of theirs, by the page's tables; none where it has no counterpart."""
    if flag in ("--loss", "--batch_mining", "--data_sampler"):
        return [word for said in quoted(WORDS[f"{flag} {value}"])[:1] for word in said.split()]
    if flag == "--arch":
        trunk, *suffixes = value.split("_")
        frozen = "stats" if "frozen" in suffixes else "none"
        return [*quoted(WORDS[f"--arch {trunk}"]), f"training.freeze_batch_norm={frozen}"]
    if flag == "--source_path":
        return []
    ours = FLAGS[flag]
    if ours.startswith(("no ", "see ", "as above", "`fairground")) or ours.startswith("`--"):
        return []
    assert "times" not in ours
    return [word.replace("N", str(value)) for word in quoted(ours)[0].split()]


@pytest.mark.parametrize(("theirs", "ours"), LINES, ids=[str(number) for number in range(len(LINES))])
def test_a_line_of_theirs_says_what_ours_says(theirs, ours):
    words = ours.split()
    assert words[0] == "--protocol"
    spec = load_run(protocol=words[1], overrides=parse_overrides(words[2:]))
    flags = flags_of(theirs)
    assert words[1] == f"roth2020-{SETS[flags['--dataset']]}"
    assert value_at(spec, "data.root") == f"data/{flags['--dataset']}"
    checked = 0
    for flag, value in flags.items():
        for word in translated(flag, value):
            key, _, expected = word.partition("=")
            found = value_at(spec, key)
            expected = expected.partition("@roth")[0]
            checked += 1
            if expected in ("none", "true", "false"):
                # A part left out is none; batch norm that is not frozen is called so.
                assert str(found).lower() == expected, word
            elif isinstance(found, int | float):
                assert found == pytest.approx(float(expected)), word
            else:
                assert found == expected, word
    assert checked > 4


def test_their_defaults_are_the_protocols():
    spec = load_run(protocol="roth2020-cub200", overrides={"data.root": "data", "loss": "margin@roth"})
    for flag in ("--n_epochs", "--bs", "--samples_per_class", "--lr", "--decay", "--embed_dim", "--loss_margin_beta"):
        (word,) = translated(flag, DEFAULTS[f"`{flag}`"])
        key, _, expected = word.partition("=")
        assert value_at(spec, key) == pytest.approx(float(expected)), word


@pytest.mark.parametrize("said", [said for said in WORDS if said.startswith("--")])
def test_every_word_of_theirs_is_one_of_ours_or_has_none(said):
    ours = WORDS[said]
    if ours.startswith("no counterpart"):
        return
    words = quoted(ours)[0].split()
    spec = load_run(protocol="roth2020-cub200", overrides=parse_overrides(["data.root=data", *words]))
    key, _, name = words[0].partition("=")
    assert value_at(spec, key) == (None if name == "none" else name.partition("@")[0])
