import ast
from pathlib import Path

import pytest

from fairground.errors import InputError
from fairground.fairness import flags, rules
from fairground.fairness.compare import compare, modules
from tests.fairness.methods import method
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
        ({"search": {"trials": 50}}, "search_budget", "trials searched"),
        ({"notes": ("search: 50 trials",)}, "search_budget", "trials searched"),
        ({"evaluation__select_by": "recall@1"}, "selection", "evaluation.select_by"),
        ({"training__patience": 5}, "selection", "training.patience"),
        ({"notes": ("selected on the test split",)}, "selection", "selected on"),
        ({"evaluation__metrics": ["map@r"]}, "evaluation", "evaluation.metrics"),
        ({"evaluation__lone": "zero"}, "evaluation", "evaluation.lone"),
        ({"evaluation__normalise": False}, "evaluation", "evaluation.normalise"),
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


def test_a_difference_says_who_has_what_and_why_it_matters():
    found = compare({"ours": method(), "theirs": method(head__embedding_dim=512)}, metric="map@r")
    (difference,) = found.differences
    assert difference.values == {"ours": "128", "theirs": "512"}
    assert str(difference) == (
        "head.embedding_dim: 128 (ours); 512 (theirs). More dimensions retrieve better whatever the loss."
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


@pytest.mark.parametrize("room", [rules, flags])
def test_every_file_is_found_and_names_its_flaw_and_the_paper(room):
    files = sorted(path for path in Path(room.__path__[0]).glob("*.py") if path.stem != "__init__")
    assert [module.__name__.rpartition(".")[2] for module in modules(room)] == [path.stem for path in files]
    for path in files:
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert "\nFlaw\n" in docstring, path
        assert "MLRC section" in docstring, path


@pytest.mark.parametrize("room", [rules, flags])
def test_the_documentation_names_every_one(room):
    page = (Path(__file__).parents[2] / "docs" / "fairness.md").read_text(encoding="utf-8")
    listed = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert {module.__name__.rpartition(".")[2] for module in modules(room)} <= listed
