"""Pages of results say what the exported records say, and their verdicts follow the rules they print."""

import math
import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from studies.results.arithmetic import median_gap, rank_correlation, seeds_to_separate, spread_of
from studies.results.claims import c01_saturation, c02_structure, c12_selection_on_test
from studies.results.claims.c13_single_seeds import wrong_winner
from studies.results.coinciding import distinct_values
from studies.results.export import export
from studies.results.records import ExportedRun, read_runs, write_runs
from studies.results.select import finals

from fairground.comparison.compare_values import compare_values
from fairground.losses import ContrastiveLoss, MarginLoss, TripletLoss
from fairground.miners.distance_weighted import DistanceWeightedMiner
from fairground.spec import load_study, parse_overrides
from fairground.studies.executors.executor import executor_named
from fairground.studies.run_study import run_study


def exported(method: str, seed: int, value: float, *, best_test: float = 0.0, **more: object) -> ExportedRun:
    """A final run of two epochs that validation ends after the first: `best_test` is what the second gains on test."""
    curves = {
        metric: {0: value - 0.1, 1: value, 2: value + best_test} for metric in ("recall@1", "r_precision", "map@r")
    }
    epochs = {("test", metric): curve for metric, curve in curves.items()}
    epochs |= {("validation", metric): {0: 0.1, 1: 0.9, 2: 0.8} for metric in curves}
    epochs |= {("train", key): {1: found} for key, found in more.pop("train", {}).items()}  # type: ignore[attr-defined]
    said = {"study": "s", "data": "cub200", "kind": "final", "state": "done", "best_epoch": 1, "settings": {"a": 1}}
    run = {
        "run": f"{method}{seed}",
        "method": method,
        "seed": seed,
        "cpu_seconds": 2.0,
        "wall_seconds": 9.0,
        "epochs": epochs,
    }
    scores = {key: found[1] for key, found in epochs.items()}
    return ExportedRun(**{**said, **run, "scores": scores, **more})


def field(levels: dict[str, float], *, sd: float = 0.001, n_seeds: int = 5, **more: object) -> list[ExportedRun]:
    noise = random.Random(0)
    return [
        exported(name, seed, level + noise.gauss(0, sd), **more)
        for name, level in levels.items()
        for seed in range(n_seeds)
    ]


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    runs = [exported("A", 1, 0.25), exported("B", 2, 0.5, kind="trial", best_epoch=None, scores={})]
    write_runs(tmp_path, "s", runs)
    assert read_runs(tmp_path, "s") == runs
    before = [path.read_bytes() for path in sorted(tmp_path.iterdir())]
    write_runs(tmp_path, "s", read_runs(tmp_path, "s"))
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == before
    assert read_runs(tmp_path, "other") == []


def test_only_seeds_that_every_method_has_finished_are_compared() -> None:
    runs = [exported("A", 1, 0.2), exported("A", 2, 0.2), exported("B", 2, 0.2), exported("Frozen", 1, 0.1)]
    assert {(run.method, run.seed) for run in finals(runs)} == {("A", 2), ("B", 2)}
    later = [exported(name, seed, 0.2) for name in "CDE" for seed in (1, 2, 3)]
    assert {run.method for run in finals([*runs, *later])} == {"C", "D", "E"}


@pytest.mark.parametrize(
    ("step", "sd", "verdict"), [(0.001, 0.0005, "holds"), (0.02, 0.001, "does not hold"), (0.005, 0.02, "cannot tell")]
)
def test_saturation_is_the_distance_of_the_median_method(step: float, sd: float, verdict: str) -> None:
    found = c01_saturation.page(field({name: 0.5 - step * place for place, name in enumerate("ABCDE")}, sd=sd))
    assert found is not None
    (answer,) = found.answers
    assert answer.verdict == verdict
    assert "median method (C)" in answer.sentence or verdict == "cannot tell"


def test_the_median_of_an_even_number_of_methods_is_between_the_two_in_the_middle() -> None:
    levels = {"A": 0.50, "B": 0.49, "C": 0.40, "D": 0.30}
    gap = median_gap(compare_values({name: {0: level, 1: level + 0.002} for name, level in levels.items()}))
    assert gap.difference == pytest.approx(0.5 - (0.49 + 0.40) / 2)
    assert (gap.low + gap.high) / 2 == pytest.approx(gap.difference)
    assert gap.median == "B and C"


def looked_at(gain: float) -> list[ExportedRun]:
    """Runs whose test score is best at epoch 20, while validation selects the first."""
    runs = []
    for name, level in {"A": 0.3, "B": 0.4, "C": 0.5}.items():
        for seed in range(2):
            test = dict.fromkeys(range(33), level) | {20: level + gain + 0.0001 * seed}
            validation = {epoch: 0.5 - 0.01 * epoch for epoch in range(33)}
            curves = {("test", metric): test for metric in ("recall@1", "map@r")}
            curves |= {("validation", metric): validation for metric in ("recall@1", "map@r")}
            runs.append(exported(name, seed, level, epochs=curves))
    return runs


@pytest.mark.parametrize(("gain", "verdict"), [(0.02, "holds"), (0.001, "does not hold")])
def test_selection_on_test_is_what_the_best_look_has_over_the_selected_epoch(gain: float, verdict: str) -> None:
    runs = looked_at(gain)
    found = c12_selection_on_test.page(runs, {"cub200": 0.005})
    assert found is not None
    inflates, grows = found.answers
    assert (inflates.verdict, grows.verdict) == (verdict, "holds")
    assert f"{100 * gain:.2f}"[:3] in inflates.sentence
    # Epoch 0 is not selected, though validation is best there, and with 8 looks nothing is gained.
    assert c12_selection_on_test.inflation(runs[0], 8) == 0


def test_a_single_seed_misleads_where_methods_are_close() -> None:
    close = {"A": {0: 0.50, 1: 0.52}, "B": {0: 0.515, 1: 0.495}}
    assert wrong_winner(close) == pytest.approx((0.5, 0.5 * 0.005))
    tied = {"A": {0: 0.5, 1: 0.4}, "B": {0: 0.5, 1: 0.3}}
    assert wrong_winner(tied) == pytest.approx((0.25, 0.25 * 0.05))
    assert wrong_winner({"A": {0: 0.9, 1: 0.8}, "B": {0: 0.1, 1: 0.2}}) == (0.0, 0.0)


def test_methods_that_coincide_in_map_at_r_count_once_by_any_metric() -> None:
    one = {"A": 0.5, "B": 0.5002, "C": 0.6}
    runs = []
    for name, level in one.items():
        for seed in range(2):
            run = exported(name, seed, level)
            runs.append(replace(run, scores={**run.scores, ("test", "recall@1"): ord(name) / 100}))
    assert distinct_values(runs, "recall@1").keys() == {"A", "C"}


def test_verdicts_are_grouped_by_what_is_claimed() -> None:
    found = c12_selection_on_test.page(looked_at(0.02), {"cub200": 0.005})
    assert found is not None
    assert found.verdicts == (
        "selection on test inflates: **holds** (CUB); it grows with looking (MAP@R selects): **holds** (CUB)"
    )


def test_structure_holds_where_recall_falls_with_rho() -> None:
    levels = {chr(65 + place): 0.5 - 0.01 * place for place in range(12)}
    runs = [
        exported(name, seed, level, train={"rho": 1 - level + 0.001 * seed, "pi_ratio": 1.0})
        for name, level in levels.items()
        for seed in range(2)
    ]
    found = c02_structure.page(runs)
    assert found is not None
    (answer,) = found.answers
    assert answer.verdict == "holds"
    assert "-1.00" in answer.sentence


def test_the_gain_of_regularisation_is_paired_by_seed() -> None:
    recall = {"X": {0: 0.5, 1: 0.6}, "R-X": {0: 0.51, 1: 0.61}, "Y": {0: 0.1}}
    (gain,) = c02_structure.gains_of(recall).values()
    assert gain.mean == pytest.approx(0.01)
    assert gain.high - gain.low == pytest.approx(0, abs=1e-9)


def test_parts_of_variance_and_seeds_needed() -> None:
    spread = spread_of({"A": {0: 0.1, 1: 0.3}, "B": {0: 0.5, 1: 0.7}})
    assert spread.seed == pytest.approx(math.sqrt(0.02))
    assert spread.method == pytest.approx(math.sqrt(0.08 - 0.01))
    assert spread.seed_share == pytest.approx(0.02 / 0.09)
    # The usual table of two-sided t tests: a difference of one standard deviation takes 17 of each.
    assert seeds_to_separate(0.01, 0.01) == 17
    import numpy as np

    assert rank_correlation(np.arange(9.0), np.arange(9.0) ** 3).value == pytest.approx(1)


def test_where_every_tuple_is_active_three_losses_have_one_gradient() -> None:
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(64, 16, generator=generator, dtype=torch.float64)
    labels = torch.arange(64) // 4
    triplets = DistanceWeightedMiner()(points, labels, generator=generator)
    losses = (
        ContrastiveLoss(positive_margin=0.0, negative_margin=2.0),
        MarginLoss(beta=1.0, margin=2.0, learn_beta=False),
        TripletLoss(margin=2.0),
    )
    directions = []
    for loss in losses:
        leaf = points.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(loss(leaf, labels, triplets), leaf)
        directions.append(gradient / gradient.norm())
    for other in directions[1:]:
        torch.testing.assert_close(other, directions[0], rtol=0, atol=1e-12)


JOBS = "tests.studies.jobs"


def test_runs_come_out_as_they_went_in_and_again_after_more_repeats(tmp_path: Path) -> None:
    home, out = tmp_path / "my_study", tmp_path / "records"
    spawn = partial(executor_named, "inline", workers=1)
    words = ["search.pruning=none", "folds.n=1", "folds.split="]
    for repeats in (1, 2):
        study = load_study("tiny", changes=parse_overrides([f"repeats={repeats}", *words]))
        results = run_study(study, home=home, spawn=spawn, run_job=f"{JOBS}:quadratic", join_job=f"{JOBS}:join")
        n_runs = export(home, out)
    found = read_runs(out, "my_study")
    assert len(found) == n_runs
    for result in results:
        mine = [run for run in found if run.method == result.job.method.label]
        finals = {run.run: run for run in mine if run.kind == "final"}
        assert set(finals) == {record.name for record in result.runs}
        assert len(mine) - len(finals) == sum(trial.state != "failed" for trial in result.trials)
        for record in result.runs:
            assert abs(finals[record.name].scores["test", "map@r"] - record.score("map@r")) < 1e-6
            assert finals[record.name].seed == record.spec["seed"]
            assert finals[record.name].settings["loss.name"] == record.spec["loss"]["name"]
    assert {run.data for run in found} == {study.data[0].label}
