import math

import pytest
from scipy import stats

from fairground.papers import PublishedRow, published_interval, published_rows, verdict_of, verdict_on_values
from fairground.papers.expected_runs import expected_runs
from fairground.records.record import RunRecord
from tests.papers.published_runs import record_of

# Published: 59.73 ± 0.40 over 10 runs.
CONTRASTIVE = published_rows("mlrc2020/table4", method="contrastive", metric="precision@1")
MLRC = next(row for row in CONTRASTIVE if row.setting == "separated")
# Published: 63.09 ± 0.46, a population deviation over 5 seeds.
ROTH = published_rows("roth2020/table2", method="margin@roth-beta12-cub200", metric="recall@1")[0]


def run(
    row: PublishedRow, score: float, *, seed: int, fold: int | None = None, study: int = 0, **changes: object
) -> RunRecord:
    """A run of the first study that makes the row, or another, save for `changes` of its spec by dotted name."""
    return record_of(expected_runs(row)[study], {"recall@1": score}, seed=seed, fold=fold, **changes)


def folds(row: PublishedRow, score: float, *, seed: int, **changes: object) -> list[RunRecord]:
    """The four fold models of one repeat, whose mean is `score`."""
    return [run(row, score + 0.01 * (fold - 1.5), seed=seed, fold=fold, **changes) for fold in range(4)]


def test_four_folds_make_one_repeat_and_close_means_are_reproduced() -> None:
    records = [r for seed, score in enumerate((0.596, 0.597, 0.598)) for r in folds(MLRC, score, seed=seed)]
    verdict = verdict_of(records, MLRC)
    assert verdict.outcome == "reproduced"
    assert verdict.ours is not None
    assert verdict.ours.n == 3
    assert verdict.ours.mean == pytest.approx(0.597)
    assert verdict.published is not None
    assert verdict.published.low == pytest.approx(0.5933)
    # t(0.975, 2) * 0.001 / sqrt(3) = 0.0025
    assert "ours 59.70 ± 0.25 over 3 repeats, published 59.73 ± 0.40 over 10" in verdict.sentence
    assert "test set" not in verdict.sentence


def test_intervals_that_lie_apart_differ_and_say_by_how_much() -> None:
    records = [r for seed, score in enumerate((0.570, 0.571, 0.572)) for r in folds(MLRC, score, seed=seed)]
    verdict = verdict_of(records, MLRC)
    assert verdict.outcome == "differs"
    assert verdict.sentence.startswith("differs: Precision@1 is 2.63 points below: ours 57.10 ± 0.25")


def test_a_population_deviation_becomes_an_interval_of_the_mean() -> None:
    interval, why = published_interval(ROTH)
    assert why == ""
    assert interval is not None
    # By the textbook: s over n - 1 from the population deviation, then t s / sqrt(n).
    s = 0.46 * math.sqrt(5 / 4)
    assert interval.half_width == pytest.approx(stats.t.ppf(0.975, 4) * s / math.sqrt(5) / 100)
    assert interval.n == 5


def test_a_number_selected_on_the_test_set_says_so() -> None:
    scores = (0.629, 0.631, 0.630, 0.632, 0.631)
    verdict = verdict_of([run(ROTH, score, seed=seed) for seed, score in enumerate(scores)], ROTH)
    assert verdict.outcome == "reproduced"
    assert verdict.sentence.endswith("(the published number is the best epoch on the test set, an upper bound)")


def test_a_wide_interval_of_ours_is_no_reproduction() -> None:
    verdict = verdict_of([run(ROTH, 0.61, seed=0), run(ROTH, 0.65, seed=1)], ROTH)
    assert verdict.outcome == "not comparable"
    assert "would hide a difference" in verdict.sentence
    assert verdict_on_values([0.61, 0.65], ROTH, resolution=0.5).outcome == "reproduced"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"protocol": "laptop"}, "protocol is laptop, the paper has roth2020-cub200"),
        ({"loss.margin": 0.3}, "loss.margin is 0.3, the paper has 0.2"),
        ({"miner": "semihard"}, "miner is semihard, the paper has distance_weighted"),
        ({"data": "cars196"}, "data is cars196, the paper has cub200"),
    ],
)
def test_what_is_not_the_rows_method_is_not_comparable(changes: dict[str, object], why: str) -> None:
    verdict = verdict_of([run(ROTH, 0.63, seed=seed, **changes) for seed in range(3)], ROTH)
    assert verdict.outcome == "not comparable"
    assert why in verdict.sentence
    assert verdict.sentence.startswith("not comparable with roth2020/table2, Margin (D, β = 1.2): ")


def test_folds_must_be_complete_and_joined_models_are_not_a_run() -> None:
    three = [record for seed in range(3) for record in folds(MLRC, 0.597, seed=seed)][:-1]
    assert "a repeat is the mean of 4 folds, and seed 2 has 3" in verdict_of(three, MLRC).sentence
    alone = [run(MLRC, 0.597, seed=seed, fold=0) for seed in range(3)]
    assert "seed 0 has 1" in verdict_of(alone, MLRC).sentence
    joined = next(
        row
        for row in published_rows("mlrc2020/table4", method="contrastive", metric="precision@1")
        if row.setting == "concatenated"
    )
    assert "joins the embeddings of four models" in verdict_of(alone, joined).sentence
    assert verdict_on_values([0.681, 0.682, 0.681], joined).outcome == "reproduced"


def test_the_preset_with_the_bugs_of_the_code_is_as_good_as_the_text() -> None:
    row = published_rows("roth2020/table2", method="arc_face@roth-cub200", metric="recall@1")[0]
    studies = [found.study for found in expected_runs(row)]
    assert studies == [f"roth2020/table2{kind}" for kind in ("", "-as-run", "-text")]
    for study in (0, 1, 2):
        records = [run(row, 0.626 + 0.001 * seed, seed=seed, study=study) for seed in range(3)]
        assert verdict_of(records, row).outcome == "reproduced"


def test_a_sampler_row_wants_its_sampler_and_is_held_against_one_more_run() -> None:
    row = published_rows("roth2020/table7", method="margin", metric="recall@1")[3]
    assert row.setting == "sampler=distance_distribution"
    spc = published_rows("roth2020/table7", method="margin", metric="recall@1")[0]
    wrong = verdict_of([run(spc, 0.625, seed=seed) for seed in range(3)], row)
    assert "sampler is per_class, the paper has distance_distribution" in wrong.sentence
    near = verdict_of([run(row, row.value / 100 + 1e-3 * (seed - 1), seed=seed) for seed in range(3)], row)
    assert near.outcome == "reproduced"
    # t(0.975, 2) * 0.001 * sqrt(1 + 1/3) = 0.0050
    assert f"one more run of ours would be {row.value:.2f} ± 0.50" in near.sentence
    assert "does not say over how many runs" in near.sentence
    away = verdict_of([run(row, row.value / 100 + 0.02 + 1e-3 * seed, seed=seed) for seed in range(3)], row)
    assert away.outcome == "differs"


def test_a_network_without_training_is_allowed_half_a_point() -> None:
    row = published_rows("mlrc2020/table2", dataset="cub200")[0]
    assert verdict_on_values([row.value / 100 + 0.004], row).outcome == "reproduced"
    assert verdict_on_values([row.value / 100 + 0.008], row).outcome == "differs"


def test_a_spread_of_zero_is_not_believed() -> None:
    row = ROTH._replace(spread=0.0)
    assert "printed spread of 0" in verdict_on_values([0.62, 0.63], row).sentence


def test_one_run_and_a_run_given_twice() -> None:
    assert "one run has no interval" in verdict_of([run(ROTH, 0.63, seed=0)], ROTH).sentence
    twice = verdict_of([run(ROTH, 0.63, seed=0)] * 3, ROTH)
    assert "one run has no interval" in twice.sentence


def test_runs_that_have_the_papers_other_number_are_not_blamed() -> None:
    # Tables 5 and 8 print 76.47 and 67.24 for the same runs.
    main = published_rows("roth2020/table5", method="histogram", metric="recall@1")[0]
    rivals = published_rows("roth2020/table8", method="histogram", metric="recall@1")
    rival = next(row for row in rivals if "E64" in row.errata)
    assert expected_runs(main)[0].settings == expected_runs(rival)[0].settings
    verdict = verdict_on_values([0.764, 0.765, 0.766], rival)
    assert verdict.outcome == "contradicted"
    assert "9.26 points above, and the paper's other number for it agrees with ours" in verdict.sentence
    assert "for this very setting roth2020/table5 prints 76.47 ± 0.38 (E64)" in verdict.sentence
    assert verdict_on_values([0.671, 0.672, 0.673], main).outcome == "contradicted"
    assert verdict_on_values([0.671, 0.672, 0.673], rival).outcome == "reproduced"
    neither = verdict_on_values([0.70, 0.701, 0.702], rival)
    assert neither.outcome == "differs"
    assert "roth2020/table5 prints 76.47" in neither.sentence


def test_the_best_epoch_is_counted_as_the_paper_counts_it() -> None:
    row = next(row for row in published_rows("roth2020/table4", metric="best_epoch") if row.row == "Angular")
    [found, *_] = expected_runs(row)
    records = [record_of(found, {"recall@1": 0.6}, seed=seed, best_epoch=int(row.value) + seed) for seed in (0, 1, 2)]
    verdict = verdict_of(records, row)
    assert verdict.ours is not None
    assert verdict.ours.mean == int(row.value)
