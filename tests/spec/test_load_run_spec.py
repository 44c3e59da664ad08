"""From overrides and files to a spec: layers, errors, names, seeds and the options of analyses."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.evaluation import analyse
from fairground.spec import Purpose, child_seed, parse_overrides, protocol_names, read_analysis
from fairground.spec.load_run_spec import load_run, run_from_plain
from fairground.spec.run_and_method_names import method_of, name_of, to_plain


def refusal(*overrides: str, file: Path | None = None) -> str:
    with pytest.raises(InputError) as caught:
        load_run(file=file, overrides=parse_overrides(overrides))
    assert caught.value.exit_code == 2
    return str(caught.value)


def test_overrides_name_components_and_their_settings() -> None:
    spec = load_run(overrides={"loss.margin": 0.1, "loss": "triplet", "sampler.per_class": 4, "seed": 3})
    assert (spec.loss.name, spec.loss.settings["margin"], spec.sampler.settings["per_class"]) == ("triplet", 0.1, 4)
    assert spec.seed == 3


def test_a_name_is_that_of_the_spec_with_every_default_spelt_out() -> None:
    def named(**settings: float) -> str:
        return name_of(load_run(overrides={"loss": "triplet", **{f"loss.{k}": v for k, v in settings.items()}}))

    assert named() == named(margin=load_run(overrides={"loss": "triplet"}).loss.settings["margin"])
    assert named() != named(margin=0.77)
    assert named(margin=1) == named(margin=1.0), "a whole number is a number"
    first, second = load_run(overrides={"seed": 1}), load_run(overrides={"seed": 2})
    assert method_of(first) == method_of(second)
    assert name_of(first) != name_of(second)


def test_the_plain_form_reads_back_to_the_same_run() -> None:
    spec = load_run(overrides={"loss": "margin", "miner": "distance_weighted", "seed": 5})
    assert run_from_plain(to_plain(spec)) == spec


def test_naming_another_component_forgets_the_old_ones_settings(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[loss]\nname = "triplet"\nmargin = 0.3\n')
    assert load_run(file=file).loss.settings["margin"] == 0.3
    assert "margin" not in load_run(file=file, overrides={"loss": "nt_xent"}).loss.settings


def test_a_preset_comes_before_what_is_spelt_out() -> None:
    preset = load_run(overrides={"loss": "margin@mlrc-cub200"})
    assert preset.loss.settings["margin"] == 0.0878
    assert preset.optimiser.loss_lr == 1.31e-3
    assert load_run(overrides={"loss": "margin@mlrc-cub200", "loss.margin": 0.5}).loss.settings["margin"] == 0.5


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["loss=triplett"], "no loss 'triplett'. Did you mean 'triplet'?"),
        (["loss=triplet", "loss.marginn=0.1"], "no setting 'loss.marginn'. Did you mean 'margin'?"),
        (["losss=triplet"], "no key 'losss'. Did you mean 'loss'?"),
        (["training.epochs=three"], "training.epochs must be a whole number; got 'three'"),
        (["training.batch_size=0"], "training.batch_size must be at least 1; got 0"),
        (["optimiser.lr=-1"], "optimiser.lr must be in [0, 100]; got -1"),
        (["optimiser.name=adamm"], "'adam', 'adamw', 'sgd', 'rmsprop', or a dotted path; got 'adamm'"),
        (["loss=triplet", "loss.margin=wide"], "loss.margin must be a number; got 'wide'"),
        (["loss"], "'loss' is not an override: write key=value"),
        (["seed=1", "seed=2"], "'seed' is given twice"),
        (["training=3"], "training is a table; set one of its keys, like training.batch_size"),
        (["miner=none", "miner.lo=0.5"], "miner is none, so it has no settings"),
        (["evaluation.select_by=nmi"], "evaluation.select_by must be one of evaluation.metrics"),
        (["optimiser.momentum=0.9"], "optimiser.momentum is for sgd and rmsprop"),
    ],
)
def test_a_mistake_is_refused_in_a_sentence(overrides: list[str], sentence: str) -> None:
    assert sentence in refusal(*overrides)


def test_a_path_is_text(tmp_path: Path) -> None:
    spec = load_run(protocol="features", overrides={"data.path": tmp_path / "x.npz"})
    assert spec.data.settings["path"] == str(tmp_path / "x.npz")


def test_a_file_that_is_not_there_or_not_toml_is_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(file=tmp_path / "nothing.toml")
    (tmp_path / "bad.toml").write_text("this is = = not toml")
    assert "is not TOML" in refusal(file=tmp_path / "bad.toml")


@pytest.mark.parametrize("name", protocol_names())
def test_every_protocol_is_a_complete_spec_but_for_where_the_data_lies(name: str) -> None:
    assert load_run(protocol=name, unsaid="somewhere").protocol == name


def test_purposes_and_seeds_have_streams_of_their_own() -> None:
    seeds = {child_seed(seed, purpose) for seed in range(100) for purpose in get_args(Purpose)}
    assert len(seeds) == 100 * len(get_args(Purpose))
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert child_seed(0, "sampler") == 440412102650778695, "the same forever"


def test_a_word_may_carry_options():
    assert read_analysis("rho") == ("rho", {})
    wanted = {"drop_last": 1, "direction": "to_uniform"}
    assert read_analysis("rho(drop_last=1, direction=to_uniform)") == ("rho", wanted)
    assert read_analysis(" pi ( distance = euclidean ) ") == ("pi", {"distance": "euclidean"})


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("['roh']", "no analysis 'roh'. Did you mean 'rho'?"),
        ("['rho(drop_last=much)']", "evaluation.analyses: rho.drop_last must be a whole number; got 'much'"),
        ("['rho(1)']", "'1' of rho must be option=value"),
        ("['rho', 'rho(drop_last=1)']", "evaluation.analyses names rho twice"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_starts(words, why):
    with pytest.raises(InputError) as refused:
        load_run(overrides=parse_overrides([f"evaluation.analyses={words}"]))
    assert why in str(refused.value)


def test_the_option_reaches_the_analysis_and_the_name_stays_plain():
    random = np.random.default_rng(0)
    embeddings, labels = random.normal(size=(60, 8)), np.repeat(np.arange(6), 10)
    plain = analyse(embeddings, labels, ["rho"])["rho"]
    found = analyse(embeddings, labels, ["rho(drop_last=1)"])["rho"]
    assert len(plain.curves["kept_singular_values"]) == 7
    assert len(found.curves["kept_singular_values"]) == 6
    assert found.values["rho"] < plain.values["rho"]


def test_re_ranked_metrics_select_only_where_re_ranking_is_asked_for() -> None:
    asked = {"evaluation.rerank": "k_reciprocal"}
    assert load_run(overrides=asked).evaluation.select_by == "map@r"
    assert (
        load_run(overrides={**asked, "evaluation.select_by": "map@r+k_reciprocal"}).evaluation.rerank == "k_reciprocal"
    )
    assert "evaluation.select_by must be one of evaluation.metrics" in refusal(
        "evaluation.select_by=map@r+k_reciprocal"
    )
    assert "evaluation.rerank" in refusal("evaluation.rerank=sideways")
