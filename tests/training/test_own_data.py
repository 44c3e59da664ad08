"""The whole walk on data of every kind: folders, tables with boxes, queries and gallery, features, closed sets."""

import json
from pathlib import Path

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.evaluation import evaluate
from fairground.records.run_folder import RunFolder
from fairground.records.store import Store
from fairground.training.assemble import assemble
from fairground.training.evaluate_stored_runs import evaluate_stored
from fairground.training.run import run
from tests.datasets import pictures
from tests.loading.pictures import photo
from tests.training.stopping import stop_and_resume
from tests.training.tiny import spec_of

SMALL = (
    *("transform=plain", "transform.side=16", "transform.shorter_side=16", "trunk.widths=[8, 16]"),
    *("head.embedding_dim=8", "sampler.per_class=2"),
    *("training.batch_size=4", "training.epochs=1", "training.batches_per_epoch=3"),
)


def text(path):
    return json.dumps(str(path))


def run_on(home, *words):
    """Return the record of a tiny run, the words coming after the tiny settings."""
    return run(spec_of(*SMALL, *words), home=home / "runs")


def test_images_prepared_once_give_the_same_digits_where_the_shorter_side_is_the_same(tmp_path):
    pictures.class_folders(tmp_path / "data", [*pictures.NASTY, "one more"], per_class=4)
    words = ("data=folder", f"data.root={text(tmp_path / 'data')}", "split.validation=0.5", "transform.shorter_side=16")
    records = [run_on(tmp_path, *words, f"data.prepared={side}") for side in (0, 16)]
    assert records[0].scores == records[1].scores
    assert {score.split for score in records[0].scores} == {"validation", "test"}
    assert records[0].epochs[1].loss == records[1].epochs[1].loss


def test_a_transform_that_wants_more_than_was_prepared_is_refused_before_anything_is_read(tmp_path):
    pictures.class_folders(tmp_path / "data", [f"class {number}" for number in range(8)], per_class=4)
    words = ("data=folder", f"data.root={text(tmp_path / 'data')}", "data.prepared=16", "transform.shorter_side=24")
    with pytest.raises(InputError, match=r"shorter side of 16, but 24 is asked for; say data.prepared=24"):
        run_on(tmp_path, *words)
    assert not (tmp_path / "cache" / "prepared").exists()
    assert not list((tmp_path / "runs").rglob("checkpoint*"))


def test_a_folder_divided_into_train_and_test(tmp_path):
    pictures.class_folders(tmp_path / "data" / "train", ["a", "b", "c", "d"], per_class=4)
    pictures.class_folders(tmp_path / "data" / "test", ["e", "f"], per_class=4)
    (tmp_path / "data" / "train" / "a" / "words.txt").write_text("not an image")
    words = ("data=folder", f"data.root={text(tmp_path / 'data')}", "split=listed", "split.validation=0.5")
    record = run_on(tmp_path, *words)
    assert record.state == "done"
    assert any("left out 'a/words.txt': not an image by name" in note for note in record.notes)
    assert not record.is_closed_set


def test_a_closed_set_says_so_in_its_record(tmp_path):
    pictures.class_folders(tmp_path / "data", ["a", "b", "c", "d"], per_class=10)
    record = run_on(tmp_path, "data=folder", f"data.root={text(tmp_path / 'data')}", "split=closed_set")
    assert record.is_closed_set
    assert "closed set: 4 of 4 test classes are trained on" in record.notes


def test_a_table_with_boxes_groups_and_super_classes(tmp_path):
    lines = ["path,label,split,x1,y1,x2,y2,group,category"]
    for label, part in enumerate(["train"] * 4 + ["validation"] * 2 + ["test"] * 2):
        for number in range(4):
            name = pictures.picture(tmp_path / f"{label}-{number}.png", 10 * label + number).name
            lines.append(f"{name},{label},{part},{number},0,{number + 12},14,{number},{label % 2}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    words = ("data=table", f"data.path={text(tmp_path / 'table.csv')}", "split=listed", "sampler=hierarchical")
    record = run_on(tmp_path, *words, "sampler.super_per_batch=2")
    assert record.state == "done"
    assert record.score("recall@1", "validation") is not None


def test_queries_search_a_gallery_at_the_end(tmp_path):
    pictures.in_shop(tmp_path / "data", n_train=8, n_test=4)
    words = ("data=in_shop", f"data.root={text(tmp_path / 'data')}", "data.subset=true", "split.validation=0.25")
    record = run_on(tmp_path, *words)
    assert record.state == "done"
    assert any(note.startswith("data: a subset of In-Shop Clothes") for note in record.notes)
    with np.load(RunFolder(tmp_path / "runs", record.name).queries, allow_pickle=False) as scored:
        # One query for each of four garments, not all twelve images.
        assert {len(scored[name]) for name in scored.files} == {4}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    for label in range(12):
        (folder / f"class{label:02d}").mkdir()
        for number in range(6):
            picture = photo(40 + number, 52 - label, seed=100 * label + number)
            picture.save(folder / f"class{label:02d}" / f"{number}.jpg")
    return folder


WORDS = (
    *("data=folder", "transform=photographs", "transform.side=32", "transform.shorter_side=36", "transform.hue=0.1"),
    *("trunk.widths=[8, 16]", "head.embedding_dim=16", "sampler.per_class=4"),
    *("training.batch_size=8", "training.epochs=2", "training.batches_per_epoch=5"),
)


@pytest.mark.parametrize("prepared", [0, 36])
def test_a_run_stopped_while_a_batch_is_made_ahead_ends_with_the_same_digits(
    prepared: int, root: Path, tmp_path: Path
) -> None:
    spec = spec_of(*WORDS, f"data.root={root}", f"data.prepared={prepared}")
    assert stop_and_resume(spec, tmp_path, 3, 4).state == "done"


def test_rows_of_several_labels_train_and_are_graded(tmp_path):
    draw = np.random.default_rng(0)
    words = np.array([["red", "red|round", "round|small", "small"][k % 4] for k in range(80)])
    np.savez(tmp_path / "f.npz", features=draw.normal(size=(80, 6)).astype(np.float32), labels=words)
    words = ("data=features", f"data.path={text(tmp_path / 'f.npz')}", "split=closed_set", "trunk=features")
    words = (*words, "transform=plain", "head.embedding_dim=4", "sampler.per_class=2", "training.batch_size=6")
    words = (*words, "training.epochs=1", "loss=contrastive", "evaluation.relevance=jaccard")
    words = (*words, "evaluation.metrics=['map@r','ndcg','weighted_map']")
    record = run(spec_of(*words), home=tmp_path / "runs")
    assert record.state == "done"
    assert {score.metric for score in record.scores} == {"map@r", "ndcg", "weighted_map"}
    parts = assemble(spec_of(*words))
    # A row of two labels is drawn by either, and counts with both wherever it is drawn.
    assert len(parts.loader.rows) == int(parts.table.label_sets[parts.split.train].sum())
    marks = parts.table.label_sets[parts.loader.rows[(batch := parts.loader.draw()).rows.numpy()]]
    assert np.array_equal(batch.labels.numpy(), marks)
    Store(tmp_path / "runs").append(record)
    again = evaluate_stored(tmp_path / "runs", record.name, split="test")
    assert again == {score.metric: score.value for score in record.scores if score.split == "test"}
    by_label = evaluate_stored(tmp_path / "runs", record.name, split="test", metrics=["ndcg"], average="classes")
    assert by_label["ndcg"] != again["ndcg"]
    with pytest.raises(InputError, match="loss proxy_nca takes one label per row"):
        run(spec_of(*words, "loss=proxy_nca"), home=tmp_path / "runs")
    with pytest.raises(InputError, match="metric nmi takes one label per row"):
        run(spec_of(*words, "evaluation.metrics=['map@r','nmi']"), home=tmp_path / "runs")


def test_queries_out_of_scope_are_unknown_and_no_row_of_the_gallery_finds_itself(tmp_path):
    draw = np.random.default_rng(1)
    labels = np.arange(120) % 12
    features = (draw.normal(size=(12, 6))[labels] + draw.normal(size=(120, 6))).astype(np.float32)
    stray = labels == 11
    split = np.where(labels < 6, "train", "test")
    sides = {"query": np.ones(120, bool), "gallery": ~stray}
    np.savez(tmp_path / "f.npz", features=features, labels=labels, split=split, **sides)
    words = (
        "data=features",
        f"data.path={text(tmp_path / 'f.npz')}",
        "split=listed",
        "split.validation=0.4",
        "trunk=features",
    )
    words = (*words, "transform=plain", "head=identity", "training.epochs=0", "training.batch_size=8")
    words = (*words, "evaluation.metrics=['map@r','open_set_auroc']")
    scores = {
        one.metric: one.value for one in run(spec_of(*words), home=tmp_path / "runs").scores if one.split == "test"
    }
    rows, own = features[labels >= 6], labels[labels >= 6]
    known = own < 11
    assert scores["map@r"] == pytest.approx(evaluate(rows[known], own[known], ["map@r"])["map@r"])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    similarity = unit @ unit[known].T
    similarity[np.flatnonzero(known), np.arange(known.sum())] = -1
    best = similarity.max(1)
    assert scores["open_set_auroc"] == pytest.approx((best[known][:, None] > best[~known]).mean())
