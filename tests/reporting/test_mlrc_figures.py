"""The figures of MLRC: claims of papers by hand, averages by hand, and spaces that metrics tell apart or not."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from fairground.papers.published_numbers import claimed_gain, claims_on
from fairground.records import EpochRow, Score
from fairground.reporting import ResultTable, side_of, signed
from fairground.reporting.figures import improvement, toys_and_metric_agreement
from tests.records.factory import changed
from tests.reporting.figure_runs import inputs, run, toys


def test_claims_are_those_of_papers_and_not_of_comparisons():
    on_cub = claims_on("cub200")
    # MLRC's supplementary page: ten papers report the contrastive loss on CUB, ten the triplet loss.
    claimed = [("contrastive*", 2006, 10), ("triplet*", 2006, 11)]
    assert [(claim.label, claim.year, claim.n_papers) for claim in on_cub] == claimed
    assert on_cub[0].value == pytest.approx((26.4 * 5 + 27.2 * 3 + 32.8 + 55) / 10)
    on_sop = {claim.label: (claim.year, claim.value) for claim in claims_on("sop")}
    # Roth's table 3, as the methods' own publications print them.
    assert on_sop["DVML"] == (2018, 70.2)
    assert on_sop["Rank"] == (2019, 79.8)
    assert set(on_sop) == {"contrastive*", "triplet*", "DVML", "HTL", "ABE", "MIC", "D&C", "Rank"}
    assert claims_on("icons") == []


def test_what_papers_claim_to_gain_by_hand():
    gain = claimed_gain("contrastive", "sop")
    assert (gain.n, gain.mean) == (2, pytest.approx(100 * ((70.2 / 37.4 + 76.3 / 42) / 2 - 1)))
    gain = claimed_gain("triplet", "sop")
    assert (gain.n, gain.mean) == (2, pytest.approx(100 * ((70.2 / 54.9 + 74.8 / 72.6) / 2 - 1)))
    assert claimed_gain("triplet", "cub200") is None


def test_progress_is_drawn_for_precision_and_for_map_at_r_with_claims_on_the_first_alone():
    scores = {"contrastive": (0.5, 0.2), "triplet": (0.4, 0.3), "margin": (0.7, 0.4)}
    records = [run(loss, recall, **{"map@r": at_r}) for loss, (recall, at_r) in scores.items()]
    made = replace(inputs(records), key=("sop", "laptop"))
    figure = improvement.over_time(made)
    assert figure.columns == ("what", "year", "Recall@1", "MAP@R")
    assert ("margin", "2017", "70.00", "40.00") in figure.numbers
    assert ("claimed: DVML", "2018", "70.20", "-") in figure.numbers
    assert "8 claims of papers" in figure.sentence
    assert figure.svg("here").count("<svg") == 1
    assert "claims" not in improvement.over_time(inputs(records)).sentence
    assert improvement.over_time(inputs(records[:2])) is None


def test_averages_leave_out_fast_ap_and_both_classics():
    def runs(shift: float):
        losses = {"contrastive": 0.5, "triplet": 0.4, "fast_ap": 0.1, "margin": 0.6, "nt_xent": 0.55}
        return [run(loss, value + shift) for loss, value in losses.items()]

    made = replace(inputs(runs(0.0)), key=("sop", "laptop"), concatenated=ResultTable.from_records(runs(0.1)))
    # Nothing is separated where nothing is joined.
    alone = improvement.average_gains_of(replace(made, concatenated=None))
    assert [source for source, *_ in alone["contrastive"] if source.startswith("here")] == ["here"]
    found = improvement.average_gains_of(made)
    gains = {source: (gain.mean, over) for source, gain, over, _ in found["contrastive"]}
    # Margin and NT-Xent alone: (20 + 10) / 2, and joined (0.7 and 0.65 over 0.6).
    assert gains["here, separated"] == (pytest.approx(15), "2 methods")
    assert gains["here, concatenated"][0] == pytest.approx(100 * (0.675 / 0.6 - 1))
    assert gains["papers claim"][1] == "2 papers"
    # MLRC, table 6: eleven of fourteen methods.
    assert gains["MLRC, separated"][1] == gains["MLRC, concatenated"][1] == "11 methods"
    assert abs(gains["MLRC, separated"][0]) < 5
    figure = improvement.average_improvement(made)
    assert "all but FastAP, the two classic losses" in figure.sentence
    assert figure.svg("here").count("<svg") == 1
    assert "Bars of papers" in figure.sentence
    assert "Bars of papers" not in improvement.average_improvement(inputs(runs(0.0))).sentence
    assert improvement.average_improvement(inputs([run("margin", 0.6), run("nt_xent", 0.5)])) is None
    # Joined models have a section of their own, and their bars in that of the separated ones.
    joined = [changed(record, ensemble="concatenated") for record in runs(0.1)]
    assert improvement.average_improvement(inputs(joined)) is None


def test_a_changed_classic_is_neither_baseline_nor_a_method():
    records = [run("contrastive", 0.5), run("contrastive", 0.6, miner="rho_distance", p=0.2), run("margin", 0.6)]
    (gain,) = improvement.average_gains_of(inputs(records))["contrastive"]
    assert (gain[1].mean, gain[2]) == (pytest.approx(20), "1 method")


def test_lag_one_autocorrelation_by_hand():
    # Mean 2.5: apart -1.5, -0.5, 0.5, 1.5; products 0.75 - 0.25 + 0.75 over 5.
    runs = [[1.0, 1.0, 0.1], [2.0, 0.0, 0.1], [3.0, 1.0, 0.1], [4.0, 0.0, 0.1]]
    assert toys_and_metric_agreement.lag_one([runs]).tolist() == [[0.25, -0.75, pytest.approx(math.nan, nan_ok=True)]]


def test_autocorrelation_is_the_mean_over_runs_of_what_they_stored():
    def with_looks(seed: int, recalls: list[float], precisions: list[float]):
        rows = [
            EpochRow(epoch=i, step=i, loss=0.1, validation={"recall@1": r, "map@r": m})
            for i, (r, m) in enumerate(zip([9.0, *recalls], [9.0, *precisions], strict=True))
        ]
        return replace(run("margin", 0.5, seed=seed), epochs=tuple(rows))

    records = [with_looks(0, [1, 2, 3, 4], [1, 2, 3, 4]), with_looks(1, [1, 0, 1, 0], [1, 2, 3, 4])]
    figure = toys_and_metric_agreement.autocorrelation(inputs(records))
    assert figure.numbers == (("MAP@R", "0.25", "2", "0.81"), ("Recall@1", "-0.25", "2", "0.73"))
    assert toys_and_metric_agreement.autocorrelation(inputs([replace(records[0], epochs=())])) is None


def test_toy_spaces_are_drawn_with_their_values(tmp_path):
    records, folders = toys(tmp_path)
    made = replace(inputs(records, folders=folders), key=("toy_spaces", "features"))
    figure = toys_and_metric_agreement.toy_spaces(made)
    assert figure.columns == ("space", "Recall@1", "MAP@R")
    assert [row[1:] for row in figure.numbers] == [("100.0", "30.0"), ("100.0", "70.0")]
    assert figure.svg("here").count("<svg") == 1
    assert toys_and_metric_agreement.toy_spaces(inputs(records, folders=folders)) is None
    assert toys_and_metric_agreement.toy_spaces(replace(inputs(records), key=("toy_spaces", "features"))) is None


def test_years_are_those_of_mlrcs_table_and_else_of_the_publication():
    found = [improvement.year_of(loss) for loss in ("triplet", "nt_xent", "normalised_softmax", "sup_con")]
    assert found == [2006, 2016, 2017, 2020]
    assert improvement.year_of("no_such_loss") is None
    records = [run("contrastive", 0.5), run("triplet", 0.4), run("triplet", 0.6, miner="semihard"), run("margin", 0.7)]
    found = improvement.dated_of(inputs(records), "recall@1")
    dated = [("contrastive", 2006, 50), ("triplet", 2006, 40), ("triplet", 2006, 60), ("margin", 2017, 70)]
    assert [(name.split()[0], year, *map(round, scores)) for year, name, scores in found] == dated
    # Of very many methods the best with each loss.
    many = [*records, *(run("margin", 0.1, miner="rho_distance", p=p / 100) for p in range(20))]
    best = [name for _, name, _ in improvement.dated_of(inputs(many), "recall@1")]
    assert best == ["contrastive", "triplet", "margin"]


def test_the_slope_of_a_line_with_its_interval_by_hand():
    # Means 1, 1, 4 at years 0, 1, 2: slope 1.5, residuals 0.5, -1, 0.5, error sqrt(1.5 / 1 / 2), t(0.975, 1) = 12.706.
    change = improvement.slope_of([2000, 2001, 2002], [1.0, 1.0, 4.0])
    found = (change.mean, change.low, change.high)
    assert found == pytest.approx((1.5, 1.5 - 12.7062 * 0.75**0.5, 1.5 + 12.7062 * 0.75**0.5), abs=1e-3)
    assert (signed(change), side_of(change)) == ("+1.50 [-9.50, +12.50]", "not settled")
    assert signed(improvement.slope_of([2000, 2001], [1.0, 2.0])) == "+1.00"


def test_correlations_against_numpy_and_not_from_few_runs():
    values = np.random.default_rng(0).uniform(0.2, 0.8, size=(6, 3))
    records = [run("a", x, seed=seed, nmi=y, f1=z) for seed, (x, y, z) in enumerate(values.tolist())]
    figure = toys_and_metric_agreement.correlations(inputs(records))
    assert figure.columns == ("metric", "Recall@1", "NMI", "F1")
    assert [list(map(float, row[1:])) for row in figure.numbers] == pytest.approx(np.corrcoef(values.T), abs=0.005)
    methods = [run(f"a{seed}", x, nmi=y, f1=z) for seed, (x, y, z) in enumerate(values.tolist())]
    said = toys_and_metric_agreement.correlations(inputs(methods)).sentence
    assert re.search(r"r = [+-]0\.\d\d \[-0\.\d\d, \+0\.\d\d\]", said)
    assert toys_and_metric_agreement.correlations(inputs(records[:4])) is None
    constant = [replace(r, scores=(*r.scores[:2], Score(metric="f1", split="test", value=0.5))) for r in records]
    assert "-" in toys_and_metric_agreement.correlations(inputs(constant)).numbers[2]
