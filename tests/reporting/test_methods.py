from dataclasses import replace

from fairground.records.record import RunRecord
from fairground.reporting.run_set import methods_of
from fairground.spec.run_names import flatten
from tests.records.factory import hashed, make_record, make_spec
from tests.reporting.fixtures import make_study


def labels(records, names=None) -> list[str]:
    return [method.label for method in methods_of(records, names)]


def test_a_method_is_called_by_its_loss_and_then_by_what_tells_it_apart():
    assert labels(make_study()) == [
        "contrastive",
        "triplet",
        "triplet + distance_weighted",
        "margin + distance_weighted",
    ]
    alike = [make_record(settings={"margin": margin, "power": 1}) for margin in (0.1, 0.2)]
    assert labels(alike) == ["triplet, loss.margin=0.1", "triplet, loss.margin=0.2"]
    assert labels([make_record()]) == ["triplet"]
    study = make_study()
    assert labels(study, {study[0].method: "our baseline"})[0] == "our baseline"


def test_a_method_has_its_seeds_in_order_and_what_differs_from_others():
    (alone,) = methods_of([make_record(seed=seed) for seed in (2, 0, 1)])
    assert [record.spec["seed"] for record in alone.records] == [0, 1, 2]
    assert alone.differences == {}
    method = methods_of(make_study())[2]
    assert method.differences == {
        "loss": "triplet",
        "miner": "distance_weighted",
        "loss.margin": "0.2",
    }


def test_a_spec_is_flattened_without_its_seed():
    flat = flatten(make_spec(miner=None))
    assert flat["loss"] == "triplet"
    assert flat["loss.margin"] == "0.1"
    assert flat["miner"] == "none"
    assert flat["evaluation.metrics"].startswith("recall@1, recall@2")
    assert "seed" not in flat
    assert flatten({"a": {"name": "x", "on": True, "many": [1, 2.5]}}) == {"a": "x", "a.on": "true", "a.many": "1, 2.5"}


def test_a_network_that_is_not_trained_is_called_frozen_and_changes_nobody_elses_name():
    def untrained(head: str) -> RunRecord:
        record = make_record()
        spec = {**record.spec, "training": {"epochs": 0}, "head": {"name": head}}
        return replace(record, spec=spec, method=hashed(spec))

    assert labels([*make_study(), untrained("identity")])[-2:] == ["margin + distance_weighted", "frozen small_conv"]
    assert labels([untrained("identity"), untrained("pca")]) == [
        "frozen small_conv + identity",
        "frozen small_conv + pca",
    ]
