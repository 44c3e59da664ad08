"""Small things that a new user stumbles over, one test each."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from fairground.commands import app, record_lines, study_progress
from fairground.deploy import card_of, open_model
from fairground.errors import InputError
from fairground.heads.pca import PcaHead
from fairground.records.record import Finding
from fairground.spec import data_name
from tests.datasets.pictures import class_folders
from tests.records.factory import make_record

FEATURES = ("head.embedding_dim=8", "training.batches_per_epoch=3", "training.batch_size=32")


def invoke(*words, code=0):
    said = CliRunner().invoke(app, [str(word) for word in words])
    assert said.exit_code == code, f"{said.output}\n{said.exception}"
    return said.output


def refused(*words):
    said = CliRunner().invoke(app, [str(word) for word in words])
    assert said.exit_code != 0
    return f"{said.output} {said.exception}"


@pytest.fixture
def features(tmp_path):
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(40), 8)
    rows = draw.normal(size=(40, 12))[labels] + draw.normal(size=(320, 12))
    (tmp_path / "birds").mkdir()
    np.savez(tmp_path / "birds" / "encoded.npz", features=rows.astype(np.float32), labels=labels)
    return tmp_path / "birds" / "encoded.npz"


def test_no_runs_are_said_to_be_none(tmp_path):
    assert invoke("list", "runs", "--home", tmp_path) == (
        f"no runs in {tmp_path} yet; `fairground train` makes one, --home names another directory\n"
    )


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"name": "icons"}, "icons"),
        ({"name": "folder", "root": "/home/me/birds"}, "birds"),
        ({"name": "folder", "root": "/home/me/birds/images"}, "birds/images"),
        ({"name": "features", "path": "encoded.npz"}, "encoded"),
        ({"name": "table", "path": "/x/cars.csv"}, "cars"),
        ({"name": "cub200", "root": "/x/CUB_200_2011"}, "cub200"),
    ],
)
def test_data_is_called_by_its_name(part, name):
    assert data_name(part) == name


@pytest.mark.parametrize("words", [("data", "check"), ("recommend",)])
def test_an_archive_is_to_be_unpacked(tmp_path, words):
    (tmp_path / "cars.zip").write_bytes(b"PK")
    assert f"'{tmp_path}/cars.zip' is an archive: unpack it and name the folder, like {tmp_path}/cars" in refused(
        *words, tmp_path / "cars.zip"
    )


def test_the_frozen_network_stands_in_the_table_and_a_run_outlives_its_data(tmp_path, features):
    home = ("--home", tmp_path / "home")
    base = ("train", "--protocol", "features", f"data.path={features}", *FEATURES, "--quiet", *home)
    invoke(*base, "training.epochs=0")
    for loss in ("contrastive", "multi_similarity"):
        for seed in (0, 1):
            trained = invoke(*base, f"loss={loss}", f"seed={seed}", "training.epochs=1")
    # Per cent, and the data by its name.
    assert " on encoded, seed 1, done" in trained
    assert trained.count(" %") >= 6
    compared = invoke("compare", *home)
    assert "frozen features" in compared
    assert "refuse" not in compared
    listed = invoke("list", "runs", *home)
    assert listed.count("  encoded  seed ") == 5
    assert listed.count("done  frozen features + pca  encoded  seed 0  test map@r ") == 1
    frozen = invoke(*base, "training.epochs=0")
    assert ": frozen features + pca on encoded, seed 0, done" in frozen
    assert "multi_similarity on encoded" in trained
    name = json.loads(invoke("list", "runs", "--json", *home))
    done = sorted(name)[0]
    before = open_model(done, home=tmp_path / "home")
    moved = shutil.move(features, tmp_path / "elsewhere.npz")
    after = open_model(done, home=tmp_path / "home")
    assert np.array_equal(before.embed(moved), after.embed(moved))
    assert after.metadata.classes == before.metadata.classes
    assert {score.metric for score in after.metadata.scores} == {score.metric for score in before.metadata.scores}
    invoke("embed", done, moved, "-o", tmp_path / "vectors.npz", *home)
    gone = "the training data, whose validation classes it is found on, was not there when it was exported"
    assert f"  no threshold: {gone}\n" in invoke("export", done, "-o", tmp_path / "model", *home)
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"No threshold is known: {gone}." in card
    assert "the training data was not there when the model was exported: scores are those of the record" in card
    assert "It takes features of width 12 from the encoder that made those" in card
    assert "fairground embed THIS_FOLDER my_features.npz" in card
    assert "my_pictures" not in card
    assert card_of(after.metadata).count("picture.jpg") == 0
    pictures = class_folders(tmp_path / "pictures", ["a", "b"])
    for words in (("embed", done, pictures, "-o", tmp_path / "p.npz"), ("index", done, pictures, "-o", tmp_path / "p")):
        assert (
            "the data are pictures, but this model takes features of width 12 from the encoder that made those it was "
            "trained on, as an array `features` (n, 12) in an .npz file, or as an .npy file. Pass them through that "
            "encoder first"
        ) in refused(*words, *home)
    assert not list(tmp_path.glob("*p.npz*")), "what is refused leaves no file"


def test_the_time_left_after_a_resumption_is_reckoned_from_this_command_alone(monkeypatch):
    import rich.progress

    from fairground.commands.training_and_study_progress import counted

    clock = [0.0]
    bars = []

    class Clocked(rich.progress.Progress):
        def __init__(self, *columns, console):
            super().__init__(*columns, console=console, auto_refresh=False, get_time=lambda: clock[0])
            bars.append(self)

    monkeypatch.setattr(rich.progress, "Progress", Clocked)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with counted("embedding", is_quiet=False) as tell:
        tell("embedding", 9000, 10_000)  # done by an earlier command
        for done in (9100, 9200, 9300):
            clock[0] += 10.0
            tell("embedding", done, 10_000)
        assert bars[0].tasks[0].time_remaining == 70.0


def test_two_data_sets_in_one_home_are_told_apart_by_their_names(tmp_path, features):
    other = tmp_path / "fish.npz"
    with np.load(features) as held:
        np.savez(other, features=-(held["features"][:, ::-1] ** 3), labels=held["labels"])
    home = ("--home", tmp_path / "home")
    for data in (features, other):
        base = ("train", "--protocol", "features", f"data.path={data}", *FEATURES, "--quiet", *home)
        for loss in ("contrastive", "multi_similarity"):
            invoke(*base, f"loss={loss}", "training.epochs=1")
    said = refused("compare", *home)
    assert "`--data encoded` selects the runs on one data set; there are encoded, fish." in said
    assert "contrastive" in invoke("compare", "--data", "fish", *home)
    assert "no run is on a data set 'fisch'; there are encoded, fish. Did you mean 'fish'?" in refused(
        "compare", "--data", "fisch", *home
    )
    page = tmp_path / "page.html"
    invoke("report", "--out", page, *home)
    for name in ("encoded", "fish"):
        assert f">{name}, features</a>" in page.read_text(), "each has a section"


def test_too_few_classes_name_the_words_to_type(tmp_path, features):
    base = ("train", "--protocol", "features", f"data.path={features}", "--quiet", "--home", tmp_path / "home")
    said = refused(*base, "head.embedding_dim=8")
    assert "the training split has 16. Set training.batch_size=64" in said
    with pytest.raises(InputError, match=r"number of training images, 100.* Say head.embedding_dim=64"):
        PcaHead(n_features=300, embedding_dim=128).fit([torch.randn(100, 300)])


def test_a_validation_of_one_class_is_said_to_choose_nothing(tmp_path):
    draw = np.random.default_rng(0)
    np.savez(tmp_path / "few.npz", features=draw.normal(size=(96, 12)).astype(np.float32), labels=np.arange(96) // 8)
    base = ("train", "--protocol", "features", f"data.path={tmp_path}/few.npz", "head.embedding_dim=8", "--quiet")
    words = (*base, "training.epochs=1", "training.batches_per_epoch=3", "training.batch_size=16")
    home = ("--home", tmp_path / "home")
    said = invoke(*words, *home)
    assert (
        "note: one class validates: all neighbours are of it, so every model has perfect scores there; "
        "split.validation=0.33 lets two validate"
    ) in said
    assert "one class validates" not in invoke(*words, "split.validation=0.33", *home)
    run = said.split()[1].rstrip(":")
    invoke("export", run, "-o", tmp_path / "model", *home)
    card = (tmp_path / "model" / "README.md").read_text()
    assert "| validation | recall@1 | 100.00 % | not known |" in card
    assert "one class validates" in card


def test_unknown_is_right_because_the_index_has_no_such_class_and_the_page_says_so(tmp_path):
    from fairground.deploy.answer_queries import QueryDecision, QueryResult
    from fairground.reporting import write_answers

    asked = {"decision": QueryDecision(is_known=False, label=None, votes=0, voters=5), "classes": (), "neighbours": ()}
    strange = QueryResult(query="a.jpg", truth="wren", is_truth_indexed=False, picture=None, **asked)
    page = write_answers([strange], picture_of={}.get, title="t", lead="l", out=tmp_path / "page.html").read_text()
    assert "right: it is <bdi>wren</bdi>, not in the index</p>" in page


def test_a_new_cache_is_announced_with_its_size_and_place(tmp_path, own_cache):
    from fairground.datasets.folder import FolderDataset

    root = class_folders(tmp_path / "birds", ["a", "b"])
    images = FolderDataset(root=str(root), prepared=16).load().images
    images.prepare()
    assert images.cache_sentence().startswith(f"prepared images are kept in {tmp_path}/cache/prepared (")
    again = FolderDataset(root=str(root), prepared=16).load().images
    again.prepare()
    assert again.cache_sentence() == ""


SIGNS = ("collapse", "hubs")
FINDINGS = tuple(Finding(sign=sign, epoch=2, step=40, sentence="all is one", remedy="take care") for sign in SIGNS)


def test_show_prints_each_finding():
    lines = list(record_lines(replace(make_record(), findings=FINDINGS)))
    assert "  doctor: collapse (epoch 2, step 40): all is one. Try: take care." in lines


def test_a_study_names_each_sign_once(capsys):
    with study_progress(2, metric="map@r", is_quiet=False) as (_, heard):
        for seed in (0, 1):
            heard(replace(make_record(seed=seed), findings=FINDINGS))
    ill, well = capsys.readouterr().err.splitlines()
    assert ill.endswith("doctor: collapse, hubs")
    assert "doctor" not in well
