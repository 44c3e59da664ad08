"""Every preset names parts that exist with settings they take, and holds the numbers the papers print."""

import dataclasses
import inspect
import tomllib
from functools import cache
from importlib import resources

import pytest

from fairground.errors import InputError
from fairground.spec import OptimiserSpec, TrainingSpec, find, fit, list_room, load_run, presets, settings_of

FILE = resources.files("fairground").joinpath("papers", "protocols", "presets.toml")
TABLES = tomllib.loads(FILE.read_text(encoding="utf-8"))
RESOLVED = {loss: presets(loss) for loss in TABLES}
EVERY = [(loss, preset) for loss, tables in TABLES.items() for preset in tables]
SETS = {"cub200", "cars196", "sop"}
FACTS = {"n_classes": 5, "embedding_dim": 4}


def inner(settings, head):
    return {key.partition(".")[2]: value for key, value in settings.items() if key.startswith(f"{head}.")}


@cache
def kind_of(room, name):
    return find(room, name)


def construct(room, name, settings):
    kind = kind_of(room, name)
    known = settings_of(room, name)
    assert set(settings) <= set(known)
    for key, value in settings.items():
        assert fit(key, known[key].hint, value) == value
    asked = inspect.signature(kind).parameters
    facts = {fact: value for fact, value in FACTS.items() if fact in asked and room == "losses"}
    return kind(**settings, **facts)


@pytest.mark.parametrize(("loss", "preset"), EVERY)
def test_every_preset_can_be_built(loss, preset):
    settings = RESOLVED[loss][preset]
    built = construct("losses", loss, inner(settings, "loss"))
    if settings["miner"] is None:
        assert not inner(settings, "miner")
    else:
        miner = construct("miners", settings["miner"], inner(settings, "miner"))
        assert issubclass(miner.yields, built.accepts)
    OptimiserSpec(**inner(settings, "optimiser"))
    TrainingSpec(**inner(settings, "training"))
    assert settings["sampler.per_class"] in (1, 2, 4)
    heads = {key.partition(".")[0] for key in settings}
    assert heads <= {"loss", "miner", "sampler", "optimiser", "training"}
    names = {field.name for field in dataclasses.fields(OptimiserSpec)}
    assert set(inner(settings, "optimiser")) <= names


@pytest.mark.parametrize(("loss", "preset"), EVERY)
def test_only_what_is_said_to_reproduce_bugs_does(loss, preset):
    settings = RESOLVED[loss][preset]
    bugs = construct("losses", loss, inner(settings, "loss")).known_bugs()
    if settings["miner"] == "multi_similarity":
        bugs += construct("miners", settings["miner"], inner(settings, "miner")).known_bugs()
    # The temperatures of NT-Xent were tuned with the floor in place, and mean nothing without it; all margin rows of
    # Roth et al. were made with their divisor.
    keeps_one = loss == "nt_xent" or (loss == "margin" and preset.startswith("roth"))
    assert bool(bugs) == ("as-run" in preset or keeps_one)


def test_every_loss_of_the_reality_check_has_every_data_set():
    tuned = {
        "contrastive", "triplet", "nt_xent", "proxy_nca", "margin", "normalised_softmax", "cos_face", "arc_face",
        "fast_ap", "snr", "multi_similarity", "soft_triple",
    }  # fmt: skip
    assert {loss for loss, tables in TABLES.items() if "mlrc" in tables} == tuned
    for loss in tuned:
        assert {f"mlrc-{name}" for name in (*SETS, "cub200-batch256")} <= set(RESOLVED[loss])


def test_every_loss_of_the_other_paper_has_its_data_sets():
    run = {loss for loss, tables in TABLES.items() if "roth" in tables}
    assert len(run) == 14
    for loss in run:
        on = SETS - {"sop"} if loss in {"proxy_nca", "soft_triple"} else SETS
        assert {f"roth-{name}" for name in SETS if f"roth-{name}" in RESOLVED[loss]} == {f"roth-{name}" for name in on}


@pytest.mark.parametrize(
    ("loss", "preset", "expected"),
    [
        ("contrastive", "mlrc-cub200", {"loss.positive_margin": -0.2, "loss.negative_margin": 0.3841, "miner": None}),
        ("nt_xent", "mlrc-sop", {"loss.temperature": 0.0002, "loss.log_floor": 1e-20}),
        ("proxy_nca", "mlrc-cars196", {"loss.scale": 7.97, "optimiser.loss_lr": 4.43e-3, "sampler.per_class": 1}),
        ("margin", "mlrc-cub200", {"loss.margin": 0.0878, "loss.beta": 0.7838, "optimiser.loss_lr": 1.31e-3}),
        ("margin", "mlrc-per-class-sop", {"loss.margin": 0.0518, "loss.beta": 0.8424, "loss.beta_kind": "per_class"}),
        ("arc_face", "mlrc-sop", {"loss.margin": 18.63, "loss.margin_unit": "degrees", "loss.scale": 220.3}),
        ("snr", "mlrc-cub200", {"loss.form": "contrastive", "loss.zero_mean_weight": 0.1382}),
        ("soft_triple", "mlrc-cub200", {"loss.gamma": 58.95, "loss.reg_divisor": "pairs"}),
        ("triplet", "roth", {"loss.margin": 0.2, "loss.power": 2, "miner": "distance_weighted", "miner.hi": None}),
        ("margin", "roth", {"loss.beta": 1.2, "loss.count": "tuples", "optimiser.loss_lr": 5e-4}),
        ("margin", "roth-beta06-cub200", {"loss.beta": 0.6, "loss.beta_kind": "per_class"}),
        ("normalised_softmax", "roth-sop", {"loss.temperature": 0.05, "optimiser.loss_lr": 2e-3}),
        ("histogram", "roth-sop", {"loss.nodes": 11}),
        ("arc_face", "roth-as-run-sop", {"loss.margin": 0.5, "loss.scale": 16.0, "loss.roth_icml_no_margin": True}),
    ],
)
def test_numbers_of_the_papers(loss, preset, expected):
    settings = RESOLVED[loss][preset]
    assert {key: settings[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("loss", "preset", "shares"),
    [
        ("contrastive", "roth-rho", (0.40, 0.35, 0.15)),
        ("margin", "roth-rho-beta06", (0.40, 0.35, 0.15)),
        ("margin", "roth-rho-beta12", (0.35, 0.35, 0.15)),
        ("snr", "roth-rho", (0.30, 0.35, 0.15)),
        ("triplet", "roth-rho", (0.40, 0.35, 0.15)),
    ],
)
def test_switching_probabilities(loss, preset, shares):
    found = [RESOLVED[loss][f"{preset}-{name}"] for name in ("cub200", "cars196", "sop")]
    assert [(one["miner"], one["miner.p_switch"]) for one in found] == [("rho_distance", share) for share in shares]


def test_refusals():
    with pytest.raises(InputError, match=r"no preset 'mlrc-cub' for loss margin\. Did you mean 'mlrc-cub200'\?"):
        load_run(overrides={"loss": "margin@mlrc-cub"})
    with pytest.raises(InputError, match=r"loss circle has no presets"):
        load_run(overrides={"loss": "circle@roth"})
    assert presets("circle") == {}
    assert set(TABLES) <= set(list_room("losses"))
