"""What is recommended, and in which words: every sentence by numbers a reader can check."""

from dataclasses import replace

import pytest

from fairground.recommend.recommendation import recommend
from fairground.recommend.standings import MethodStanding, standings_of
from fairground.report.advice import advice_of, ranking_of, standings_plain, standings_text
from tests.records.factory import make_record


def standing(label, values, *, seconds=60.0, epochs=6, test=None):
    runs = tuple(
        replace(run, provenance=replace(run.provenance, wall_seconds=seconds, peak_memory_bytes=5 * 10**8))
        for run in (make_record(seed=seed) for seed in range(len(values)))
    )
    return MethodStanding(
        label=label,
        runs=runs,
        validation=dict(enumerate(values)),
        test=dict(enumerate(test or ())),
        epochs=epochs,
        is_full=True,
    )


UNTRAINED = standing("untrained network", [0.10], epochs=0)


def told(standings, baselines=(UNTRAINED,), *, is_sealed=False):
    return advice_of(recommend(standings, list(baselines)), metric="map@r", is_sealed=is_sealed)


def test_a_clear_winner_is_taken_and_said_to_be_clear():
    found = told([standing("A", [0.50, 0.51, 0.52], test=[0.40, 0.41, 0.42]), standing("B", [0.30, 0.31, 0.32])])
    assert found[0] == "Take A: MAP@R 51.00 ± 2.51 % over 3 seeds on the validation classes."
    assert found[1].startswith("A is better than B by 20.00 [")
    assert found[2] == "Training gained 41.00 points over the untrained network (10.00 %)."
    assert found[3].startswith("On the test classes, opened once after this choice, A reaches MAP@R 41.00 ± 2.49 %")


def test_methods_that_may_be_best_give_way_to_the_cheapest():
    fast = standing("fast", [0.500, 0.512, 0.505], seconds=30)
    slow = standing("slow", [0.509, 0.503, 0.511], seconds=60)
    recommendation = recommend([slow, fast], [UNTRAINED])
    assert recommendation.is_cheaper
    assert recommendation.chosen.label == "fast"
    found = told([slow, fast])
    assert found[0].startswith("Take fast, the cheapest of those that may be best: MAP@R 50.57 ±")
    assert found[0].endswith("the two are not settled, and fast saves 50 % of the time.")


def test_of_unsettled_methods_of_one_price_the_higher_mean_is_taken_and_seeds_are_counted():
    found = told([standing("A", [0.52, 0.50, 0.51]), standing("B", [0.50, 0.505, 0.50])])
    assert "It is not settled against B and has the highest mean." in found[0]
    assert found[1].startswith("A and B: not settled, difference 0.83 [")
    assert found[1].endswith("more seeds of each would settle it.")


def test_hundreds_of_seeds_are_not_recommended():
    found = told([standing("A", [0.52, 0.50, 0.511]), standing("B", [0.50, 0.52, 0.510])])
    assert found[1].startswith("A and B: not settled")
    assert found[1].endswith(" Choose by cost.")


def test_a_cheap_method_that_is_clearly_lower_is_not_taken():
    recommendation = recommend([standing("A", [0.6, 0.5]), standing("B", [0.5, 0.52], seconds=5)], [UNTRAINED])
    assert recommendation.chosen.label == "A"


def test_training_that_did_not_help_is_told_and_the_network_is_taken_as_it_is():
    frozen = standing("frozen network", [0.60], epochs=0, test=[0.5])
    found = told([standing("A", [0.59, 0.58, 0.6])], [frozen])
    assert found[0].startswith("Take the frozen network as it is: MAP@R 60.00 %")
    assert found[1].startswith(
        "Training did not beat the frozen network, so use that: A, the best of those trained, has MAP@R 59.00"
    )


def test_one_seed_is_not_believed_and_a_sealed_test_split_is_told():
    found = told([standing("A", [0.5]), standing("B", [0.4])], is_sealed=True)
    assert found[1].startswith("One seed each cannot tell")
    assert found[-1] == "The test classes are still sealed: they are opened once, when the race is over."


def test_without_any_trained_method_the_untrained_one_is_all_there_is():
    assert told([])[0].startswith("Take the untrained network as it is")


def test_the_ranking_tells_scores_seeds_epochs_time_and_memory():
    some = [standing("A", [0.5, 0.52], test=[0.4, 0.4]), UNTRAINED]
    assert ranking_of(some, metric="map@r") == [
        ("A", "51.00 ± 13.17", "40.00 ± 0.00", "2", "6", "60 s", "500 MB"),
        ("untrained network", "10.00", "sealed", "1", "0", "60 s", "500 MB"),
    ]
    lines = standings_text(some[:1], [UNTRAINED], metric="map@r").splitlines()
    assert lines[0].split() == ["method", "validation", "test", "seeds", "epochs", "time", "of", "a", "run", "memory"]
    assert standings_plain(some)[0]["validation"] == {0: 0.5, 1: 0.52}


def test_only_the_longest_runs_of_a_method_count():
    runs = [make_record(seed=0, loss="triplet"), make_record(seed=1, loss="triplet")]
    short = replace(runs[1], epochs=runs[1].epochs[:2])
    metric = next(score.metric for score in runs[0].scores if score.split == "validation")
    labels = {run.name: "Triplet" for run in runs}
    found = standings_of([runs[0], short], labels=labels, metric=metric, epochs=99)
    assert [len(one.validation) for one in found] == [1]
    assert found[0].epochs == runs[0].epochs[-1].epoch
    assert not found[0].is_full
    assert found[0].best_run(metric) == runs[0]
    with pytest.raises(Exception, match="no run has come far enough"):
        recommend([], [])
