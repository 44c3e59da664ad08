import json
from pathlib import Path

import pytest

from fairground.comparison.fairness import compare
from fairground.comparison.fairness_flags import FLAGS
from fairground.comparison.fairness_rules import RULES
from fairground.errors import InputError
from fairground.records.record import PretrainedWeights
from tests.commands.test_commands import fairground
from tests.comparison.methods import ON_TEST, method, searched
from tests.records.factory import make_provenance


def broken(ours: list, theirs: list) -> dict[str, list[str]]:
    """Which rules two methods break, and by which settings."""
    found = compare({"ours": ours, "theirs": theirs}, metric="map@r")
    by_rule: dict[str, list[str]] = {}
    for difference in found.differences:
        by_rule.setdefault(difference.rule, []).append(difference.what)
    assert found.is_fair == (not by_rule)
    return by_rule


@pytest.mark.parametrize(
    ("changes", "rule", "what"),
    [
        ({"protocol": "roth"}, "protocol", "protocol"),
        ({"trunk__name": "resnet50"}, "trunk", "trunk"),
        ({"trunk__weights": "imagenet"}, "trunk", "trunk.weights"),
        ({"head__name": "two_layers"}, "trunk", "head"),
        ({"head__embedding_dim": 512}, "embedding_dim", "head.embedding_dim"),
        ({"training__freeze_batch_norm": "stats"}, "batch_norm", "training.freeze_batch_norm"),
        ({"transform__shift": 4}, "preprocessing", "transform.shift"),
        ({"data__name": "cub200"}, "data", "data"),
        ({"split__validation": 0.5}, "split", "split.validation"),
        ({"optimiser__lr": 1e-5}, "optimiser", "optimiser.lr"),
        ({"optimiser__name": "sgd"}, "optimiser", "optimiser"),
        ({"training__batch_size": 256}, "batches", "training.batch_size"),
        ({"sampler__name": "uniform"}, "batches", "sampler"),
        ({"training__epochs": 80}, "budget", "training.epochs"),
        ({"training__batches_per_epoch": 10}, "budget", "training.batches_per_epoch"),
        ({"fields": searched(50)}, "search_budget", "trials searched"),
        ({"evaluation__select_by": "recall@1"}, "selection", "evaluation.select_by"),
        ({"training__patience": 5}, "selection", "training.patience"),
        ({"fields": ON_TEST}, "selection", "selected on"),
        ({"fields": {"weights": PretrainedWeights(name="imagenet", hash="0676")}}, "trunk", "pretrained weights"),
        ({"evaluation__metrics": ["map@r"]}, "evaluation", "evaluation.metrics"),
        ({"evaluation__lone": "zero"}, "evaluation", "evaluation.lone"),
        ({"evaluation__normalise": False}, "evaluation", "evaluation.normalise"),
        ({"evaluation__clustering_seeds": 5}, "evaluation", "evaluation.clustering_seeds"),
        ({"training__gradient_chunk": 16}, "unforeseen", "training.gradient_chunk"),
        ({"precision": "bfloat16"}, "unforeseen", "precision"),
        ({"provenance": make_provenance(data_fingerprint="e" * 12)}, "data", "data fingerprint"),
        ({"provenance": make_provenance(split_fingerprint="6" * 12)}, "split", "split fingerprint"),
    ],
)
def test_each_rule_names_what_differs_and_nothing_else_does(changes, rule, what):
    assert broken(method(), method(loss="margin", **changes)) == {rule: [what]}


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": "margin"},
        {"loss__margin": 0.5},
        {"miner": None},
        {"miner__name": "random"},
        {"regulariser": {"name": "rho", "p_switch": 0.3}},
        {"loss": "arc_face", "optimiser__loss_lr": 0.01, "optimiser__loss_weight_decay": 1e-4},
        {"sampler__name": "uniform"},
        {"sampler": {"name": "per_class", "per_class": 2}},
        {"loss": "arc_face", "sampler__per_class": 1},
    ],
)
def test_what_is_compared_may_differ(changes):
    assert broken(method(), method(**changes)) == {}


@pytest.mark.parametrize(
    ("ours", "theirs", "is_alike"),
    [
        ({"loss": "contrastive"}, {"loss": "n_pair", "evaluation__normalise": True}, True),
        ({"loss": "contrastive", "evaluation__normalise": True}, {"loss": "margin"}, True),
        ({"loss": "n_pair"}, {"loss": "contrastive", "evaluation__normalise": False}, True),
        ({"loss": "contrastive"}, {"loss": "margin", "evaluation__normalise": False}, False),
        ({"loss": "n_pair"}, {"loss": "contrastive", "evaluation__normalise": True}, False),
    ],
)
def test_lengths_are_compared_by_what_is_measured_not_by_the_word(ours, theirs, is_alike):
    expected = {} if is_alike else {"evaluation": ["evaluation.normalise"]}
    assert broken(method(**ours), method(**theirs)) == expected


def test_a_difference_says_who_has_what_and_why_it_matters():
    found = compare({"ours": method(), "theirs": method(head__embedding_dim=512)}, metric="map@r")
    (difference,) = found.differences
    assert difference.values == {"ours": "128", "theirs": "512"}
    assert str(difference) == (
        "head.embedding_dim: 128 (ours); 512 (theirs). More dimensions retrieve better whatever the loss (MLRC 2.1)."
    )
    assert "embedding_dim" in found.refusal()


def test_runs_of_one_method_that_disagree_are_a_difference_too():
    changed = make_provenance(data_fingerprint="e" * 12)
    mixed = [*method(seeds=2), *method(seeds=(2,), provenance=changed)]
    found = compare({"ours": mixed}, metric="map@r")
    (difference,) = found.differences
    assert difference.values == {"ours": "dddddddddddd or eeeeeeeeeeee"}


def test_nothing_to_compare_is_refused():
    with pytest.raises(InputError, match="no method was given"):
        compare({}, metric="map@r")
    with pytest.raises(InputError, match="'ours' has no runs"):
        compare({"ours": []}, metric="map@r")


def test_every_row_has_a_name_of_its_own_and_every_rule_a_reason_in_a_sentence():
    for table in (RULES, FLAGS):
        assert len({row.name for row in table}) == len(table)
    assert all(rule.why.endswith(".") and rule.why[0].isupper() for rule in RULES)
    assert [rule.name for rule in RULES if rule.is_rest] == ["unforeseen"]


def test_no_setting_is_watched_by_two_rules_unless_one_says_it_is_the_others():
    owned = [owner for rule in RULES for owner in rule.settings]
    assert len(owned) == len(set(owned))


def test_the_documentation_shows_both_tables_and_a_command_lists_them(capsys):
    page = (Path(__file__).parents[2] / "docs" / "fairness.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert f"| `{rule.name}` | {rule.compares} | {rule.why} |" in page
    for flag in FLAGS:
        assert f"| `{flag.name}` | {flag.raised_when} |" in page
    assert page.count("| `") == len(RULES) + len(FLAGS)
    for word, table in (("rules", RULES), ("flags", FLAGS)):
        assert fairground("list", word, "--json") == 0
        assert list(json.loads(capsys.readouterr().out)) == [row.name for row in table]


#: what a network that is not trained may have otherwise: nothing of it was chosen for training
UNTRAINED = {
    "training__epochs": 0,
    "training__batch_size": 16,
    "training__batches_per_epoch": 3,
    "training__patience": 9,
    "training__freeze_batch_norm": "stats",
    "training__precision": "mixed",
    "optimiser__lr": 0.5,
    "sampler__name": "uniform",
    "head__name": "identity",
    "head__embedding_dim": 2048,
    "evaluation__select_by": "recall@1",
    "loss": "margin",
}


@pytest.mark.parametrize("key", [key for key in UNTRAINED if key != "training__epochs"])
def test_an_untrained_network_may_stand_in_every_table(key):
    frozen = method(**{"training__epochs": 0, key: UNTRAINED[key]})
    assert broken(method(fields=searched(50)), frozen) == {}


def test_an_untrained_network_must_still_be_the_same_network_on_the_same_data_measured_alike():
    changes = {
        "trunk__name": "resnet50",
        "data__name": "cub200",
        "split__validation": 0.5,
        "transform__shift": 9,
        "evaluation__metrics": ["map@r"],
        "protocol": "roth",
    }
    assert set(broken(method(), method(training__epochs=0, **changes))) == {
        "trunk", "data", "split", "preprocessing", "evaluation", "protocol",
    }  # fmt: skip


def test_two_trained_methods_are_held_to_each_other_whatever_stands_beside_them():
    found = compare(
        {"a": method(), "b": method(training__epochs=80), "frozen": method(training__epochs=0)}, metric="map@r"
    )
    (difference,) = found.differences
    assert difference.values == {"a": "8", "b": "80"}
