"""Wrong labels that were planted are found first, by arithmetic a reader can do and by counting."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fairground.audit.label_errors import FOLDS, suspect_labels
from fairground.commands.main import app
from fairground.errors import DataError
from tests.datasets.pictures import class_folders


def planted(seed, n_classes=12, per_class=20, share=0.05):
    """Return features of classes that overlap a little, labels with a share swapped at random, and which."""
    draw = np.random.default_rng(seed)
    truth = np.repeat(np.arange(n_classes), per_class)
    rows = 1.2 * draw.normal(size=(n_classes, 16))[truth] + draw.normal(size=(len(truth), 16))
    wrong = draw.choice(len(truth), int(share * len(truth)), replace=False)
    labels = truth.copy()
    labels[wrong] = (truth[wrong] + draw.integers(1, n_classes, len(wrong))) % n_classes
    return rows, labels, truth, wrong


def test_two_classes_by_hand():
    # Two tight classes far apart; one image of the second lies in the first.
    rows = np.array([[1, 0.01], [1, 0.0], [1, -0.01], [1, 0.02], [-1, 0.01], [-1, 0.0], [-1, -0.01], [1, 0.005]])
    found = suspect_labels(rows, np.array([7, 7, 7, 7, 9, 9, 9, 9]))
    assert found.order().tolist() == [7]
    assert found.suggested[7] == 7


@pytest.mark.parametrize("seed", range(3))
def test_planted_errors_come_first(seed):
    rows, labels, truth, wrong = planted(seed)
    found = suspect_labels(rows, labels)
    first = found.order()[: len(wrong)]
    assert np.isin(first, wrong).mean() >= 0.8
    hit = np.intersect1d(first, wrong)
    assert (found.suggested[hit] == truth[hit]).mean() >= 0.8


def test_an_image_is_judged_without_itself():
    # Unrelated labels: a rule that had seen an image would hold most of them for right.
    draw = np.random.default_rng(0)
    rows, labels = draw.normal(size=(400, 100)), draw.integers(4, size=400)
    found = suspect_labels(rows, labels)
    assert (found.scores > 0).mean() == pytest.approx(0.75, abs=0.08)


def test_the_discriminant_agrees_with_distances_in_the_whitened_space():
    from fairground.audit import label_errors

    rows, labels, _, _ = planted(5, n_classes=4)
    points = label_errors._principal(rows)
    folds = label_errors._folds(labels, 0)
    found = suspect_labels(rows, labels)
    assert set(np.bincount(folds)) == {len(labels) // FOLDS}
    for row in (0, 17, 55):
        others = folds != folds[row]
        means = [points[others & (labels == c)].mean(0) for c in range(4)]
        residuals = np.concatenate([points[others & (labels == c)] - means[c] for c in range(4)])
        covariance = residuals.T @ residuals / len(residuals)
        covariance = 0.7 * covariance + 0.3 * np.trace(covariance) / 16 * np.eye(16)
        away = [(points[row] - m) @ np.linalg.solve(covariance, points[row] - m) / 2 for m in means]
        rivals = [distance for c, distance in enumerate(away) if c != labels[row]]
        assert found.scores[row] == pytest.approx(away[labels[row]] - min(rivals), rel=1e-6)


def test_too_little_to_judge():
    with pytest.raises(DataError, match="two classes at least; got 1"):
        suspect_labels(np.eye(4), np.zeros(4, int))
    with pytest.raises(DataError, match="a class of three images"):
        suspect_labels(np.eye(4), np.array([0, 0, 1, 1]))
    rows = np.array([[1.0, 0], [1, 0.1], [1, 0.2], [0, 1], [0.1, 1]])
    assert np.isneginf(suspect_labels(rows, np.array([0, 0, 0, 1, 1])).scores[3:]).all()


def test_the_command_ranks_features_and_lists_them(tmp_path):
    rows, labels, _, wrong = planted(1)
    np.savez(tmp_path / "some.npz", features=rows.astype(np.float32), labels=labels)
    words = ["data", "check", str(tmp_path / "some.npz"), "--labels", "--csv", str(tmp_path / "found.csv")]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    assert "images are nearer to another class than to their own" in said.output
    with (tmp_path / "found.csv").open() as file:
        found = [line for line in csv.DictReader(file) if line["finding"] == "suspect label"]
    first = [int(line["image"].removeprefix("row ")) for line in found[: len(wrong)]]
    assert np.isin(first, wrong).mean() >= 0.8
    assert [float(line["value"]) for line in found] == sorted((float(line["value"]) for line in found), reverse=True)
    data = json.loads(CliRunner().invoke(app, [*words[:4], "--json"]).stdout)
    assert len(data["label_suspects"]) == len(found)
    refused = CliRunner().invoke(app, [*words[:3], "--page", str(tmp_path / "page.html")])
    assert refused.exit_code != 0
    assert "features have none: use --csv" in str(refused.exception) + refused.output


def test_all_copies_are_listed_and_the_clean_table_has_none(tmp_path):
    root = class_folders(tmp_path / "photos", ["a", "b", "c"], per_class=4)
    files = sorted(root.rglob("*.png"))
    (root / "a" / "copy.png").write_bytes(files[0].read_bytes())
    (root / "b" / "copy.png").write_bytes(files[5].read_bytes())
    # The same picture under two labels: neither can be trusted.
    (root / "c" / "other.png").write_bytes(files[1].read_bytes())
    (root / "c" / "broken.png").write_bytes(b"nothing")
    words = ["--csv", str(tmp_path / "found.csv"), "--write-clean", str(tmp_path / "clean.csv")]
    said = CliRunner().invoke(app, ["data", "check", str(root), *words])
    assert said.exit_code == 0, said.output
    with (tmp_path / "found.csv").open() as file:
        found = list(csv.DictReader(file))
    assert sorted(line["finding"] for line in found) == ["exact duplicate"] * 3 + ["unreadable"]
    with (tmp_path / "clean.csv").open() as file:
        kept = {line["path"] for line in csv.DictReader(file)}
    assert kept == {str(path.resolve()) for path in files if path != files[1]}
    again = CliRunner().invoke(app, ["data", "check", str(tmp_path / "clean.csv"), "--json"])
    assert json.loads(again.stdout)["duplicates"]["images"] == 0
    refused = CliRunner().invoke(app, ["data", "check", str(root), "--write-clean", str(tmp_path / "x.txt")])
    assert "give a name that ends in .csv" in str(refused.exception) + refused.output


def test_the_clean_table_keeps_all_labels_and_levels(tmp_path):
    root = class_folders(tmp_path / "photos", ["a", "b"], per_class=3)
    files = sorted(str(path.relative_to(tmp_path)) for path in root.rglob("*.png"))
    (tmp_path / files[1]).write_bytes((tmp_path / files[0]).read_bytes())
    (tmp_path / files[4]).write_bytes((tmp_path / files[3]).read_bytes())
    # Of two copies with one set of labels the first stays; of two with other labels, none, even in one class.
    labels = ["red|round", "round|red", "small|red", "round", "round|red", "small"]
    rows = [f"{path},{names},{k % 2},0" for k, (path, names) in enumerate(zip(files, labels, strict=True))]
    (tmp_path / "own.csv").write_text("\n".join(["path,labels,super_label,super_label_2", *rows]))
    words = ["data", "check", str(tmp_path / "own.csv"), "--write-clean", str(tmp_path / "clean.csv")]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    with (tmp_path / "clean.csv").open() as file:
        kept = [tuple(line.values())[1:] for line in csv.DictReader(file)]
    assert kept == [("red|round", "0", "0"), ("small|red", "0", "0"), ("small", "1", "0")]


def test_the_page_shows_suspects_with_both_classes(tmp_path):
    said = CliRunner().invoke(app, ["data", "check", "--dataset", "icons", "--page", str(tmp_path / "page.html")])
    assert said.exit_code == 0, said.output
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<section class="query') == 200
    assert "others labelled" in page
    assert "so being suspect says little here" in page
    assert "so being suspect says little here" in said.output
    assert "<script" not in page
