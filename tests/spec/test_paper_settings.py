"""The card says whether the loss has the paper's settings, and whether they follow the text or the code as run."""

import pytest

from fairground.commands.protocol import card_of
from fairground.spec.load import load_run


def card(protocol: str, *words: str) -> dict[str, str]:
    return card_of(load_run(protocol=protocol, overrides=words, unsaid="somewhere"))


@pytest.mark.parametrize("data", ["cub200", "cars196", "sop"])
def test_a_bare_protocol_says_that_presets_exist(data: str) -> None:
    found = card(f"roth2020-{data}")
    assert found["settings of the loss"] == f"NOT the paper's: write loss=margin@roth-{data}"
    assert "text or code" not in found
    assert card(f"mlrc2020-{data}")["settings of the loss"].startswith("NOT the paper's: write loss=contrastive@mlrc-")


def test_a_preset_is_recognised_by_its_settings() -> None:
    said = card("roth2020-cub200", "loss=margin@roth-beta06-cub200")["settings of the loss"]
    assert said == "those of the paper: loss=margin@roth-beta06-cub200"
    changed = card("roth2020-cub200", "loss=margin@roth-beta06-cub200", "loss.beta=0.7")["settings of the loss"]
    assert changed.startswith("NOT the paper's")
    assert card("mlrc2020-sop", "loss=arc_face@mlrc-sop")["settings of the loss"].endswith("loss=arc_face@mlrc-sop")


def test_text_or_code_is_said_where_they_differ() -> None:
    text = card("roth2020-cub200", "loss=arc_face@roth-cub200")["text or code"]
    assert text == "the text's definition; loss=arc_face@roth-as-run-cub200 is the released code as run"
    code = card("roth2020-cub200", "loss=arc_face@roth-as-run-cub200")["text or code"]
    assert code == "the released code as run, with its mistakes in this loss"
    same = card("roth2020-cub200", "loss=margin@roth-cub200")["text or code"]
    assert same == "text and released code are the same for this loss"
    assert "text or code" not in card("mlrc2020-cub200", "loss=arc_face@mlrc-cub200")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "as the released code draws them (sampler.replace_classes=true)"),
        (("sampler=greedy_coreset",), "as the text says; sampler.roth_code=true is the code as run"),
        (
            ("sampler=distance_distribution", "sampler.cost=roth_code"),
            "as the released code draws them (sampler.cost=roth_code)",
        ),
        (("sampler=per_class_random",), "as the text says; sampler.uniform_over=classes is the code as run"),
    ],
)
def test_batches_follow_text_or_code(words: tuple[str, ...], said: str) -> None:
    assert card("roth2020-cub200", "loss=margin@roth-cub200", *words)["text or code, batches"] == said


def test_other_protocols_and_untrained_networks_have_no_such_line() -> None:
    assert "settings of the loss" not in card("laptop")
    assert "settings of the loss" not in card("roth2020-cub200", "training.epochs=0")
    assert card("roth2020-cub200", "loss=circle", "miner=none")["settings of the loss"] == (
        "not the paper's: roth2020 does not have circle"
    )
