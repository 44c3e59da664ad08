"""Which runs may share a table: every rule, every flag, and the flaws of MLRC as runs that must be caught.

Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, sections 2.1 to 2.3 and supplementary page.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fairground.comparison import FLAGS, RULES, check_fairness, join_folds
from fairground.comparison.compare_values import compare_values
from fairground.records.record import KnownBug, PretrainedWeights, Score
from fairground.spec import Choice, Integer, LogReal, Real, SearchProcedure
from tests.commands.test_commands import fairground
from tests.comparison.methods import ON_TEST, method, searched
from tests.records.factory import make_provenance


def broken(ours: list, theirs: list) -> dict[str, list[str]]:
    """Which rules two methods break, and by which settings."""
    found = check_fairness({"ours": ours, "theirs": theirs}, metric="map@r")
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


def test_one_name_stands_for_one_content():
    mine = {"loss": "lab:Loss", "fields": {"content": {"source of lab:Loss": "1", "file of loss.path": "a"}}}
    edited = {"content": {"source of lab:Loss": "2", "file of loss.path": "a"}}
    assert broken(method(), method(**mine)) == {}
    assert broken(method(**mine), method(**mine, loss__margin=0.5)) == {}
    assert broken(method(**mine), method(**{**mine, "fields": edited})) == {"content": ["source of lab:Loss"]}
    other_file = {"content": {"source of lab:Loss": "1", "file of loss.path": "b", "file of trunk.weights": "c"}}
    assert broken(method(**mine), method(**{**mine, "fields": other_file})) == {}
    mixed = [*method(**mine, seeds=2), *method(**{**mine, "fields": edited}, seeds=(2,))]
    (difference,) = check_fairness({"ours": mixed}, metric="map@r").differences
    assert str(difference).startswith("source of lab:Loss: 1 or 2 (ours).")


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


def test_runs_of_one_method_that_disagree_are_a_difference_too():
    changed = make_provenance(data_fingerprint="e" * 12)
    mixed = [*method(seeds=2), *method(seeds=(2,), provenance=changed)]
    found = check_fairness({"ours": mixed}, metric="map@r")
    (difference,) = found.differences
    assert difference.values == {"ours": "dddddddddddd or eeeeeeeeeeee"}


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


def test_an_untrained_network_may_differ_in_all_that_is_chosen_for_training():
    training = {"epochs": 0, "batch_size": 16, "batches_per_epoch": 3, "patience": 9}
    training |= {"freeze_batch_norm": "stats", "precision": "bf16"}
    chosen = {"optimiser__lr": 0.5, "sampler__name": "uniform", "evaluation__select_by": "recall@1"}
    frozen = method(loss="margin", training=training, head={"name": "identity", "embedding_dim": 2048}, **chosen)
    assert broken(method(fields=searched(50)), frozen) == {}


def test_an_untrained_network_must_still_be_the_same_network_on_the_same_data_measured_alike():
    changes = {"trunk__name": "resnet50", "data__name": "cub200", "split__validation": 0.5, "transform__shift": 9}
    changes |= {"evaluation__metrics": ["map@r"], "protocol": "roth"}
    rules = {"trunk", "data", "split", "preprocessing", "evaluation", "protocol"}
    assert set(broken(method(), method(training__epochs=0, **changes))) == rules


def test_two_trained_methods_are_held_to_each_other_whatever_stands_beside_them():
    runs = {"a": method(), "b": method(training__epochs=80), "frozen": method(training__epochs=0)}
    (difference,) = check_fairness(runs, metric="map@r").differences
    assert difference.values == {"a": "8", "b": "80"}


def raised(metric: str = "map@r", **methods: list) -> dict[str, str]:
    """Which flags are raised, and their texts."""
    found = check_fairness(methods, metric=metric).flags
    return {flag.flag: flag.text for flag in found}


def other(**changes: object) -> list:
    return method(**({"loss": "margin", "level": 0.4} | changes))


BUG = KnownBug(component="loss.triplet", sentence="anchors drawn twice")
SEEN = [replace(run, epochs=tuple(replace(row, test={"map@r": 0.3}) for row in run.epochs)) for run in method()]
LOST = replace(method(seeds=(9,))[0], state="diverged", failure="at step 3", scores=(), best_epoch=None)
ON_TWO = {"provenance": make_provenance(threads=2)}
ON_CARD, ELSEWHERE = {"provenance": make_provenance(device="cuda")}, {"provenance": make_provenance(hardware="other")}
LONG, SHORT = {"evaluation__normalise": None}, {"evaluation__normalise": True}
OFTEN = {"fields": searched(50)}
SOLVED = {"level": 0.995, "spread": 1e-4}


@pytest.mark.parametrize(
    ("flag", "text", "methods"),
    [
        ("", "", {"a": method(), "b": other()}),
        ("test_selection", "Selected on the test split: a.", {"a": method(fields=ON_TEST), "b": other()}),
        ("test_selection", "did not select: a.", {"a": method(is_validated=False), "b": other()}),
        ("test_watched", "was watched during training, though validation selected: a.", {"a": SEEN, "b": other()}),
        ("raw_outputs", "others at unit length: a.", {"a": method(loss="n_pair", **LONG), "b": other(**LONG)}),
        ("", "", {"a": method(loss="n_pair", loss__normalise=True, **LONG), "b": other(**LONG)}),
        ("", "", {"a": method(loss="n_pair", **LONG), "b": method(loss="angular", level=0.4, **LONG)}),
        ("", "", {"a": method(loss="n_pair", **SHORT), "b": other(**SHORT)}),
        ("no_repeats", "One run only: a, b.", {"a": method(seeds=1), "b": other(seeds=1)}),
        ("seeds", "Unequal numbers of runs: a 2, b 3.", {"a": method(seeds=2), "b": other()}),
        ("seeds", "same seeds", {"a": method(), "b": other(seeds=(7, 8, 9))}),
        ("less_tuning", "most tuned method: b (10).", {"a": method(**OFTEN), "b": other(fields=searched(10))}),
        ("less_tuning", "b (none known)", {"a": method(**OFTEN), "b": other()}),
        ("", "", {"a": method(**OFTEN), "b": other(**OFTEN)}),
        ("closed_set", "closed set", {"a": method(fields={"is_closed_set": True})}),
        ("known_bugs", "switched on in a: anchors drawn twice.", {"a": method(fields={"known_bugs": (BUG,)})}),
        ("unfinished", "a: 1 of 4 runs did not finish (diverged) and are not counted.", {"a": [*method(), LOST]}),
        ("environment", "Not the same in all runs: the machine.", {"a": method(), "b": other(**ELSEWHERE)}),
        ("device", "Not run on the same kind of device: a cpu, b cuda.", {"a": method(), "b": other(**ON_CARD)}),
        ("threads", "Not run with the same number of threads: a 1, b 2.", {"a": method(), "b": other(**ON_TWO)}),
        ("threads", "number of threads: a 1 or 2.", {"a": [*method(seeds=2), *method(seeds=(2,), **ON_TWO)]}),
        ("untrained", "Not trained: a.", {"a": method(training__epochs=0), "b": other()}),
        ("", "", {"a": method(training__epochs=0)}),
        ("per_class", "follow the loss: a 4, b 1.", {"a": method(), "b": other(loss="arc_face", sampler__per_class=1)}),
        ("", "", {"a": method(), "b": method(sampler__per_class=1)}),
        ("weak_metric", "has a map@r of 99 % or more.", {"a": method(**SOLVED), "b": other(**SOLVED)}),
    ],
)
def test_each_flag_is_raised_by_its_own_flaw_alone(flag, text, methods):
    told = raised(**methods)
    assert list(told) == ([flag] if flag else [])
    assert text in told.get(flag, "")


def test_a_claim_over_overlapping_intervals():
    # Seeds move both methods alike: their difference is sure, each of them is not.
    runs, high, low = {"a": method(), "b": other()}, {0: 0.1, 1: 0.5, 2: 0.9}, {0: 0.05, 1: 0.46, 2: 0.84}
    for comparison, is_raised in ((compare_values({"a": high, "b": low}), True), (None, False)):
        flags = [flag.text for flag in check_fairness(runs, metric="map@r", comparison=comparison).flags]
        assert any("In 1 of 1 verdict a method is called better while" in text for text in flags) == is_raised
    clear = compare_values({"a": {0: 0.9, 1: 0.91, 2: 0.92}, "b": low | {1: 0.06, 2: 0.07}})
    unsettled = compare_values({"a": high, "b": {0: 0.6, 1: 0.2, 2: 0.5}})
    for comparison in (clear, unsettled):
        assert check_fairness(runs, metric="map@r", comparison=comparison).flags == ()


def test_many_overlapping_claims_are_one_sentence_with_counts():
    values = {x: {seed: 0.5 * seed - 0.1 * i + 1e-3 * seed * i for seed in range(3)} for i, x in enumerate("abcde")}
    comparison = compare_values(values)
    flags = check_fairness({name: method() for name in values}, metric="map@r", comparison=comparison).flags
    (told,) = [flag.text for flag in flags if flag.flag == "overlap"]
    assert told.startswith(
        "In 10 of 10 verdicts a method is called better while the two intervals overlap: a than 4 methods, "
    )
    assert told.endswith("c than 2 methods and 1 more.")


def test_what_is_varied_on_purpose_is_not_a_difference():
    runs = {"a": method(), "b": method(training__batch_size=8)}
    assert not check_fairness(runs, metric="map@r").is_fair
    assert check_fairness(runs, metric="map@r", varied=("training.batch_size",)).is_fair
    assert not check_fairness(runs, metric="map@r", varied=("optimiser.lr",)).is_fair


def test_an_optimum_on_a_bound():
    ranges = {
        "loss.triplet.margin": Real(low=0.0, high=1.0),
        "loss.triplet.scale": LogReal(low=0.01, high=100.0),
        "loss.triplet.bins": Integer(low=2, high=100),
        "loss.triplet.form": Choice(options=("x", "y")),
        "optimiser.loss_lr": LogReal(low=1e-6, high=1e-1),
        "loss.margin.margin": Real(low=0.1, high=0.2),
    }

    def bounds(**changes: object) -> list[str]:
        runs = method(fields={"search": SearchProcedure(trials=5, ranges=ranges)}, **changes)
        found = check_fairness({"a": runs}, metric="map@r").flags
        return [flag.text for flag in found if flag.flag == "bound"]

    assert bounds(loss__margin=0.5, loss__scale=1.0, loss__bins=50, loss__form="x") == []
    assert bounds(loss__margin=0.995) == ["On a bound of the search range: a: loss.margin = 0.995 (upper)."]
    both = "On a bound of the search range: a: loss.scale = 0.0102 (lower), optimiser.loss_lr = 1e-06 (lower)."
    assert bounds(loss__scale=0.0102, optimiser__loss_lr=1e-6) == [both]
    assert bounds(loss__bins=3) == []


def test_clustering_metrics_need_the_spread_over_their_seeds():
    def with_nmi(seeds: int = 1) -> list:
        return [
            replace(run, scores=(*run.scores, Score(metric="nmi", split="test", value=0.5)))
            for run in method(fields={"clustering_seeds": seeds})
        ]

    assert "nmi" in raised(a=with_nmi())["clustering"]
    assert raised(a=with_nmi(5)) == {}
    assert {"clustering", "weak_metric"} == set(raised(metric="nmi", a=with_nmi()))
    assert "weak_metric" in raised(metric="recall@1", a=method(), b=other())


def test_folds_are_averaged_and_count_as_one_run_a_seed():
    whose = [make_provenance(split_fingerprint=f"{fold}" * 12) for fold in range(4)]
    given = [{"level": 0.3 + fold / 10, "split__fold": fold, "provenance": whose[fold]} for fold in range(4)]
    folds = [run for each in given for run in method(spread=1e-9, **each)]
    joined = join_folds(folds)
    assert len({run.method for run in joined}) == 1
    assert [run.spec["seed"] for run in joined] == [0, 1, 2]
    assert abs(joined[0].score("map@r") - 0.45) < 1e-6
    assert joined[0].spec["split"]["fold"] == "0, 1, 2, 3"
    other = join_folds([replace(run, spec={**run.spec, "loss": {"name": "margin"}}) for run in folds])
    assert check_fairness({"a": joined, "b": other}, metric="map@r").differences == ()
    lacking = join_folds([run for run in other if run.spec["seed"] != 2] + [folds[2]])
    assert {d.rule for d in check_fairness({"a": joined, "b": lacking}, metric="map@r").differences} == {"split"}
    alone = method(split__fold=1)
    assert join_folds(alone) == alone
    assert join_folds(method()) == method()
