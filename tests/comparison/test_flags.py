from dataclasses import replace

from fairground.comparison.fairness import compare
from fairground.comparison.run_scores import join_folds
from fairground.records.record import KnownBug, Score
from fairground.spec.procedures import SearchProcedure
from fairground.spec.space import Choice, Integer, LogReal, Real
from tests.comparison.methods import ON_TEST, method, searched
from tests.records.factory import make_provenance


def raised(metric: str = "map@r", claims: tuple = (), ranges: dict | None = None, **methods: list) -> dict[str, str]:
    """Which flags are raised, and their texts."""
    found = compare(methods, metric=metric, claims=claims, ranges=ranges).flags
    return {flag.flag: flag.text for flag in found}


def test_a_clean_comparison_raises_nothing():
    assert raised(a=method(), b=method(loss="margin", level=0.4)) == {}


def test_selection_on_the_test_split_or_without_validation():
    told = raised(a=method(fields=ON_TEST), b=method(loss="margin"))
    assert told["test_selection"] == "Selected on the test split: a."
    told = raised(a=method(is_validated=False), b=method(loss="margin"))
    assert told["test_selection"].endswith("did not select: a.")


def test_a_test_split_that_was_watched():
    seen = method()
    seen = [replace(run, epochs=tuple(replace(row, test={"map@r": 0.3}) for row in run.epochs)) for run in seen]
    told = raised(a=seen, b=method(loss="margin", level=0.4))
    assert told["test_watched"] == "The test split was watched during training, though validation selected: a."


def test_raw_outputs_next_to_unit_vectors():
    unsaid, said = {"evaluation__normalise": None}, {"evaluation__normalise": True}
    other = method(loss="margin", level=0.4, **unsaid)
    told = raised(a=method(loss="n_pair", **unsaid), b=other)
    assert told["raw_outputs"] == "Measured on raw outputs, the others at unit length: a."
    assert raised(a=method(loss="n_pair", loss__normalise=True, **unsaid), b=other) == {}
    assert raised(a=method(loss="n_pair", **unsaid), b=method(loss="angular", level=0.4, **unsaid)) == {}
    assert raised(a=method(loss="n_pair", **said), b=method(loss="margin", level=0.4, **said)) == {}


def test_one_run_unequal_runs_and_other_seeds():
    assert raised(a=method(seeds=1), b=method(loss="margin", seeds=1)) == {"no_repeats": "One run only: a, b."}
    assert raised(a=method(seeds=2), b=method(loss="margin", seeds=3))["seeds"] == "Unequal numbers of runs: a 2, b 3."
    assert "same seeds" in raised(a=method(), b=method(loss="margin", seeds=(7, 8, 9)))["seeds"]


def test_a_claim_over_overlapping_intervals():
    near, far = method(level=0.305, spread=0.01), method(loss="margin", level=0.3, spread=0.01)
    assert "while their own intervals overlap" in raised(claims=(("a", "b"),), a=near, b=far)["overlap"]
    assert raised(a=near, b=far) == {}
    assert raised(claims=(("a", "b"),), a=method(level=0.9), b=far) == {}
    assert "overlap" in raised(claims=(("a", "b"),), a=method(level=0.9, seeds=1), b=method(loss="margin", seeds=1))


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
        found = compare({"a": method(**changes)}, metric="map@r", ranges=ranges).flags
        return [flag.text for flag in found if flag.flag == "bound"]

    assert bounds(loss__margin=0.5, loss__scale=1.0, loss__bins=50, loss__form="x") == []
    assert bounds(loss__margin=0.995) == ["a: loss.margin = 0.995 is on the upper bound of its search range."]
    assert bounds(loss__scale=0.0102) == ["a: loss.scale = 0.0102 is on the lower bound of its search range."]
    assert bounds(loss__bins=3) == []
    assert len(bounds(loss__bins=2, optimiser__loss_lr=1e-6)) == 2


def test_far_less_tuning_is_named_besides_the_broken_rule():
    told = raised(ours=method(fields=searched(50)), baseline=method(loss="margin", fields=searched(10)))
    assert told["less_tuning"].endswith("50 trials of the most tuned method: baseline (10).")
    told = raised(ours=method(fields=searched(50)), baseline=method(loss="margin"))
    assert "baseline (none known)" in told["less_tuning"]
    even = searched(50)
    assert raised(a=method(fields=even), b=method(loss="margin", fields=even)) == {}


def test_clustering_metrics_need_the_spread_over_their_seeds():
    def with_nmi(seeds: int = 1) -> list:
        return [
            replace(run, scores=(*run.scores, Score(metric="nmi", split="test", value=0.5)))
            for run in method(fields={"clustering_seeds": seeds})
        ]

    assert "nmi" in raised(a=with_nmi())["clustering"]
    assert raised(a=with_nmi(5)) == {}
    assert {"clustering", "weak_metric"} == set(raised(metric="nmi", a=with_nmi()))


def test_a_closed_set_and_known_bugs_and_lost_runs_and_another_machine():
    assert "closed set" in raised(a=method(fields={"is_closed_set": True}))["closed_set"]
    bug = KnownBug(component="loss.triplet", sentence="anchors drawn twice")
    told = raised(a=method(fields={"known_bugs": (bug,)}), b=method(loss="margin"))
    assert told["known_bugs"] == "Known bug switched on in a: anchors drawn twice."
    lost = [
        *method(),
        replace(method(seeds=(9,))[0], state="diverged", failure="at step 3", scores=(), best_epoch=None),
    ]
    assert raised(a=lost)["unfinished"] == "a: 1 of 4 runs did not finish (diverged) and are not counted."
    told = raised(a=method(), b=method(loss="margin", provenance=make_provenance(hardware="other")))
    assert told == {"environment": "Not the same in all runs: the machine."}


def test_other_numbers_of_threads_between_methods_or_within_one():
    told = raised(a=method(), b=method(loss="margin", provenance=make_provenance(threads=2)))
    assert told == {"threads": "Not run with the same number of threads: a 1, b 2."}
    mixed = [*method(seeds=2), *method(seeds=(2,), provenance=make_provenance(threads=2))]
    assert raised(a=mixed)["threads"] == "Not run with the same number of threads: a 1 or 2."


def test_a_bound_of_the_range_that_was_searched_rather_than_of_the_one_declared():
    narrow = SearchProcedure(trials=5, ranges={"loss.margin": Real(low=0.1, high=0.2)})
    told = raised(ranges={"loss.triplet.margin": Real(low=0.0, high=2.0)}, a=method(fields={"search": narrow}))
    assert told["bound"] == "a: loss.margin = 0.1 is on the lower bound of its search range."


def test_a_network_that_is_not_trained_is_named_where_it_stands_beside_trained_ones():
    frozen = method(training__epochs=0, seeds=3)
    assert raised(frozen=frozen, b=method(loss="margin")) == {"untrained": "Not trained: frozen."}
    assert raised(frozen=frozen) == {}


def test_images_of_a_class_may_follow_the_loss_and_it_is_said():
    told = raised(a=method(), b=method(loss="arc_face", sampler__per_class=1))
    assert told["per_class"] == "Images of a class in a batch follow the loss: a 4, b 1."
    assert raised(a=method(), b=method(sampler__per_class=1)) == {}


def test_folds_are_averaged_and_count_as_one_run_a_seed():
    folds = [
        run
        for fold in range(4)
        for run in method(
            level=0.3 + fold / 10,
            spread=1e-9,
            split__fold=fold,
            provenance=make_provenance(split_fingerprint=f"{fold}" * 12),
        )
    ]
    joined = join_folds(folds)
    assert len({run.method for run in joined}) == 1
    assert [run.spec["seed"] for run in joined] == [0, 1, 2]
    assert abs(joined[0].score("map@r") - 0.45) < 1e-6
    assert joined[0].spec["split"]["fold"] == "0, 1, 2, 3"
    other = join_folds([replace(run, spec={**run.spec, "loss": {"name": "margin"}}) for run in folds])
    assert compare({"a": joined, "b": other}, metric="map@r").differences == ()
    lacking = join_folds([run for run in other if run.spec["seed"] != 2] + [folds[2]])
    assert {d.rule for d in compare({"a": joined, "b": lacking}, metric="map@r").differences} == {"split"}
    alone = method(split__fold=1)
    assert join_folds(alone) == alone
    assert join_folds(method()) == method()
