"""The toys: what the papers say of theirs is true of ours."""

from dataclasses import replace

import numpy as np
import pytest

from fairground.datasets.toy_lines import LINES, ToyLinesDataset
from fairground.datasets.toy_spaces import ToySpacesDataset
from fairground.evaluation import evaluate
from fairground.reporting import RunSet, figures_of, inputs_of, page_text
from fairground.spec import jobs_of, load_study
from fairground.splits.listed import ListedSplit
from fairground.training.run import run

METRICS = ["recall@1", "nmi", "f1", "r_precision", "map@r"]


def scores(space: str) -> dict[str, float]:
    table = ToySpacesDataset(space=space).load()
    rows = ListedSplit().parts(table).test
    return evaluate(table.images.take(rows).numpy(), table.labels[rows], metrics=METRICS, normalise=False)


def test_recall_and_clusters_cannot_tell_the_spaces_apart_and_map_at_r_can():
    stripes, blocks, bands = (scores(space) for space in ("stripes", "blocks", "bands"))
    for space in (stripes, blocks, bands):
        assert space["recall@1"] > 0.99
        assert space["nmi"] < 0.02
        assert space["f1"] == pytest.approx(0.5, abs=0.01)
    assert stripes["map@r"] < blocks["map@r"] - 0.1 < bands["map@r"] - 0.2
    assert stripes["r_precision"] < blocks["r_precision"] < bands["r_precision"]


def test_two_classes_train_two_validate_and_two_test():
    table = ToySpacesDataset(space="blocks", per_class=10).load()
    parts = ListedSplit().parts(table)
    assert [len(rows) for rows in (parts.train, parts.validation, parts.test)] == [20, 20, 20]
    assert table.class_names[4:] == ("test A", "test B")
    assert table.images.channels == 2


@pytest.mark.parametrize(("lines", "n_test"), [("diagonal", 4), ("vertical", 2)])
def test_points_lie_on_their_lines_a_hundredth_apart_and_never_twice(lines, n_test):
    table = ToyLinesDataset(lines=lines, seed=3).load()
    parts = ListedSplit().parts(table)
    assert [len(rows) for rows in (parts.train, parts.validation, parts.test)] == [60, 60, 15 * n_test]
    points = table.images.take(parts.train).numpy().reshape(4, 15, 2)
    for some, (x, y, to_x, to_y) in zip(points, LINES[lines][0], strict=True):
        along = ((some - (x, y)) @ (to_x - x, to_y - y)) / ((to_x - x) ** 2 + (to_y - y) ** 2)
        assert some == pytest.approx(np.outer(1 - along, (x, y)) + np.outer(along, (to_x, to_y)), abs=1e-6)
        assert 99 * along == pytest.approx(np.round(99 * along), abs=1e-3)
        assert len(set(np.round(99 * along))) == 15
    assert (ToyLinesDataset(seed=1).load().images.take(parts.train) != table.images.take(parts.train)).any()


def test_dropping_the_attraction_is_what_flattens_the_spectrum_of_the_toy(tmp_path):
    study = load_study("roth2020/figure6", changes={"training.batches_per_epoch": 100})
    jobs = jobs_of(study)
    records = [run(job.spec(seed=1, test=True), home=tmp_path) for job in jobs]
    base, script, control, text, often = (record.score("largest_share", "train") for record in records)
    assert min(base, text, often) > 0.8
    assert max(script, control) < 0.75
    names = {record.method: job.method.label for record, job in zip(records, jobs, strict=True)}
    runs = replace(RunSet.in_home(records, tmp_path, names=names), study=study)
    (inputs,) = inputs_of(runs).values()
    (figure,) = figures_of(inputs)
    assert [row[0] for row in figure.numbers] == [method.label for method in study.methods]
    assert figure.numbers[0][1] == f"{base:.2f} to {base:.2f}"
    assert figure.answer.startswith(f"The larger singular value has a share of {base:.2f} to {base:.2f} with no regul")
    assert figure.svg("here").count("<svg") == 1
    assert "[unfair]" not in page_text(runs)
