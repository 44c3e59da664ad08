"""The declaration cards of the papers' protocols hold the papers' numbers."""

import dataclasses

import pytest

from fairground.papers.published_numbers import published_rows
from fairground.spec import RunSpec, changes, declaration, load_run, parse_overrides, protocol_names
from fairground.spec.declaration_card import card_of


def spec(protocol: str, *words: str) -> RunSpec:
    return load_run(protocol=protocol, overrides=parse_overrides(words), unsaid="somewhere")


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


@pytest.mark.parametrize("sampler", ["distance_distribution", "greedy_coreset", "frechet", "d2_coreset", "balanced"])
def test_another_sampler_keeps_the_images_a_class_of_the_protocol(sampler: str) -> None:
    protocol = spec("roth2020-cub200")
    run = spec("roth2020-cub200", "loss=margin@roth-beta12-cub200", f"sampler={sampler}")
    assert run.sampler.settings["per_class"] == 2
    changed = changes(run, protocol, unsaid="somewhere")
    assert changed["sampler"] == f"{sampler} (protocol: per_class)"
    assert "sampler.per_class" not in changed
    said = spec("roth2020-cub200", f"sampler={sampler}", "sampler.per_class=8")
    assert said.sampler.settings["per_class"] == 8
    assert changes(said, protocol, unsaid="somewhere")["sampler.per_class"] == "8 (protocol: 2)"


def test_a_protocol_measures_every_metric_its_paper_prints() -> None:
    same = {"recall@1": "precision@1", "precision@1": "recall@1"}
    rows = [row for row in published_rows() if row.dataset and row.unit == "percent"]
    assert len(rows) > 1500
    for row in rows:
        metrics = spec(row.protocol).evaluation.metrics
        assert row.metric in metrics or same.get(row.metric) in metrics, (row.protocol, row.metric)


def card(protocol: str, *words: str) -> dict[str, str]:
    return card_of(load_run(protocol=protocol, overrides=parse_overrides(words), unsaid="somewhere"))


def test_a_preset_is_recognised_by_its_settings() -> None:
    said = card("roth2020-cub200", "loss=margin@roth-beta06-cub200")["settings of the loss"]
    assert said.startswith("those of the paper: loss=margin@roth-beta06-cub200; as its text has them: ")
    changed = card("roth2020-cub200", "loss=margin@roth-beta06-cub200", "loss.beta=0.7")["settings of the loss"]
    assert changed.startswith("NOT the paper's")
    assert card("mlrc2020-sop", "loss=arc_face@mlrc-sop")["settings of the loss"].endswith("loss=arc_face@mlrc-sop")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("loss=triplet@roth-cub200", "the released code: loss.power 2 (text: 1, E2), miner.hi none (text: 1.4, E37)"),
        ("loss=triplet@roth-cub200-text", "as the text: loss.power 1 (code: 2, E2), miner.hi 1.4 (code: none, E37)"),
        ("loss=n_pair@roth-cub200", "loss.positives one_random (text: all, E6), loss.norm_power 1 (text: 2, E6)"),
        ("loss=generalised_lifted_structure@roth", "loss.reduction mean_anchor (text: sum, E4)"),
        ("loss=proxy_nca@roth", "loss.power 2 (text: 1, E19), loss.scale 9 (text: 1, E19), optimiser.loss_lr 0.0005 ("),
        ("loss=snr@roth", "loss.zero_mean_weight 0 (text: 0.005, E25)"),
        ("loss=triplet@roth-semihard", "miner.margin 0.2 (text: 2, E33)"),
        ("loss=triplet@roth-random", "miner.roth_code yes (text: no, E65)"),
        ("loss=contrastive@roth", "(text: 1.4, E37); also different: E1 (text: the hinge on positives; code: "),
        ("loss=margin@roth", "loss.count tuples (text: pairs, E16), loss.beta_kind per_class (text: scalar, E66)"),
        ("loss=margin@roth miner.hi=1.1", "as neither: miner.hi 1.1 (text: 1.4, code: none, E37)"),
        ("loss=quadruplet@roth", "loss.margin 0.2 (text: 1, E22), loss.second_margin 0.2 (text: 0.5, E22), miner.hi "),
        ("loss=quadruplet@roth", "as the text: loss.fourth strict (code: roth_code, E23)"),
        ("loss=arc_face@roth", "as the text: loss.roth_icml_no_margin no (code: yes, E11)"),
        ("loss=arc_face@roth-as-run", "as the released code: loss.roth_icml_no_margin yes (text: no, E11)"),
    ],
)
def test_text_or_code_is_said_setting_by_setting(words: str, said: str) -> None:
    assert said in card("roth2020-cub200", *words.split())["text or code"]


def test_text_or_code_depends_on_the_data_set_and_the_other_readings_are_named() -> None:
    for data, is_said in {"cub200": False, "sop": True}.items():
        softmax = card(f"roth2020-{data}", f"loss=normalised_softmax@roth-{data}")["text or code"]
        assert ("optimiser.loss_lr 0.002 (text: 1e-05, E32)" in softmax) == is_said
        assert ("E13" in card(f"roth2020-{data}", f"loss=histogram@roth-{data}")["text or code"]) == is_said
    own = card("roth2020-cub200", "loss=quadruplet@roth-cub200")["settings of the loss"]
    assert "the released code as run: loss=quadruplet@roth-as-run-cub200" in own
    assert own.endswith("as its text has them: loss=quadruplet@roth-cub200-text")
    none = "no difference is known between text and released code for this loss"
    assert card("mlrc2020-cub200", "loss=fast_ap@mlrc")["text or code"] == none
    assert "E7" in card("mlrc2020-cub200", "loss=nt_xent@mlrc")["text or code"]
    assert "text or code" not in card("laptop", "loss=triplet@roth")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "as the released code: sampler.replace_classes yes (text: no, E56), sampler.replace_samples yes"),
        (("sampler=greedy_coreset",), "sampler.roth_code no (code: yes, E42), sampler.pool 1024 (code: 512, E56)"),
        (("sampler=distance_distribution", "sampler.cost=roth_code"), "code: sampler.cost roth_code (text: w1"),
        (("sampler=per_class_random",), "as the text: sampler.uniform_over samples (code: classes, E56)"),
    ],
)
def test_batches_follow_text_or_code(words: tuple[str, ...], said: str) -> None:
    assert said in card("roth2020-cub200", "loss=margin@roth-cub200", *words)["text or code, batches"]
