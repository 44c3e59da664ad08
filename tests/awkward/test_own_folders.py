"""What a new user's folder may be like: every path ends in a result, or in a sentence that says what to do."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from fairground.commands.main import main
from tests.awkward import folders

QUICK = ("trunk.widths=[4, 8]", "training.epochs=1", "training.batches_per_epoch=2", "training.batch_size=8")
TRAIN = (*QUICK, "sampler.per_class=2", "head.embedding_dim=8")


class Said(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


Run = Callable[..., Said]


@pytest.fixture
def fairground(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return the command line, in this process; an exception that gets out fails the test."""

    def call(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["fairground", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        return Said(code, *capsys.readouterr())

    return call


def train(fairground: Run, root: Path, home: Path, *more: str) -> Said:
    return fairground("train", "data=folder", f"data.root={root}", *TRAIN, *more, "--home", home, "-q", "--json")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model trained for two batches, exported."""
    from fairground.deploy.from_run import model_of_run
    from fairground.deploy.model_folder import write_model
    from fairground.records.store import Store
    from fairground.spec.load import load_run
    from fairground.training.run import run

    place = tmp_path_factory.mktemp("model")
    root = folders.class_folders(place / "photos")
    spec = load_run(overrides=["data=folder", f"data.root={root}", *TRAIN])
    record = run(spec, home=place / "home")
    Store(place / "home").append(record)
    write_model(model_of_run(place / "home", record.name), place / "model")
    return place / "model"


FINE = {"names": folders.names, "modes": folders.modes}


@pytest.mark.parametrize("kind", FINE)
def test_odd_names_and_odd_pixels_go_all_the_way(kind: str, model: Path, fairground: Run, tmp_path: Path) -> None:
    root = FINE[kind](tmp_path / "photos")
    assert fairground("data", "check", root, "-q").code == 0
    trained = train(fairground, root, tmp_path / "home")
    assert trained.code == 0
    assert json.loads(trained.out)["state"] == "done"
    assert fairground("embed", model, root, "-o", tmp_path / "all.npz", "-q").code == 0
    assert fairground("index", model, root, "-o", tmp_path / "index", "-q").code == 0
    found = fairground("query", tmp_path / "index", root, "-k", 1, "--page", tmp_path / "page.html")
    assert found.code == 0
    assert (tmp_path / "page.html").stat().st_size > 1000
    with np.load(tmp_path / "all.npz") as arrays:
        assert len(arrays["embeddings"]) == len(list(root.rglob("*.*g")))


def test_one_class_is_too_few_to_train_and_enough_to_embed(model: Path, fairground: Run, tmp_path: Path) -> None:
    root = folders.class_folders(tmp_path / "photos", n_classes=1)
    assert "1 classes are too few to train" in fairground("data", "check", root).out
    said = train(fairground, root, tmp_path / "home")
    assert said.code == 2
    assert "train, validation and test need a class each; the data has 1" in said.err
    assert fairground("embed", model, root, "-o", tmp_path / "all.npz").code == 0


def test_classes_of_one_image_are_refused_before_training(fairground: Run, tmp_path: Path) -> None:
    root = folders.class_folders(tmp_path / "photos", per_class=1)
    assert "no class has two images" in fairground("data", "check", root).out
    said = train(fairground, root, tmp_path / "home")
    assert said.code == 2
    assert "give classes two images at least" in said.err
    assert not (tmp_path / "home" / "runs").exists()


def test_corrupt_files_are_all_named_or_left_out_when_asked(model: Path, fairground: Run, tmp_path: Path) -> None:
    root = folders.corrupt(tmp_path / "photos")
    checked = fairground("data", "check", root)
    assert "unreadable: 3" in checked.out
    assert "exact duplicates: 2 images" in checked.out
    said = train(fairground, root, tmp_path / "home")
    assert said.code == 2
    assert "`fairground data check` names every picture that cannot be read" in said.err
    for words in (("embed", model, root, "-o", tmp_path / "all.npz"), ("index", model, root, "-o", tmp_path / "index")):
        refused = fairground(*words)
        assert refused.code == 2
        assert "of 41 pictures 3 cannot be read" in refused.err
        assert all(name in refused.err for name in ("class 0/0.png", "class 1/1.png", "class 2/2.png"))
        done = fairground(*words, "--skip-unreadable")
        assert done.code == 0
        assert "left out: 3 cannot be read" in done.err
    with np.load(tmp_path / "all.npz") as arrays:
        assert len(arrays["embeddings"]) == len(arrays["files"]) == len(arrays["labels"]) == 38
        assert arrays["left_out"].tolist() == ["class 0/0.png", "class 1/1.png", "class 2/2.png"]
    assert len(json.loads((tmp_path / "index" / "index.json").read_text())["left_out"]) == 3


def test_nothing_but_corrupt_files_is_a_sentence(model: Path, fairground: Run, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(b"")
    said = fairground("embed", model, tmp_path / "photos", "-o", tmp_path / "all.npz", "--skip-unreadable")
    assert said.code == 2
    assert "none of the 1 pictures can be read" in said.err


def test_loops_end_and_broken_links_are_named(model: Path, fairground: Run, tmp_path: Path) -> None:
    root = folders.loops(tmp_path / "photos")
    checked = fairground("data", "check", root)
    assert checked.code == 0
    assert f"{tmp_path.name}/photos (folder): 41 images of 10 classes" in checked.out
    assert "gone.png' cannot be read: no such file" in checked.out
    said = train(fairground, root, tmp_path / "home")
    assert said.code == 2
    assert "remove broken links" in said.err
    assert fairground("embed", model, root, "-o", tmp_path / "all.npz", "--skip-unreadable").code == 0


def test_folders_within_class_folders_belong_to_the_class_and_that_is_said(fairground: Run, tmp_path: Path) -> None:
    root = folders.nested(tmp_path / "photos")
    said = fairground("data", "check", root)
    assert "24 images of 4 classes" in said.out
    assert "'kind 0/sort 0' counts as class 'kind 0'" in said.out


@pytest.mark.parametrize("what", ["empty", "file.txt", "nowhere"])
def test_what_is_no_folder_of_images_is_a_sentence(what: str, model: Path, fairground: Run, tmp_path: Path) -> None:
    place = tmp_path / what
    if what == "empty":
        place.mkdir()
    elif what == "file.txt":
        place.write_text("words")
    for words in (
        ("data", "check", place),
        ("train", "data=folder", f"data.root={place}", *TRAIN, "--home", tmp_path / "home"),
        ("embed", model, place, "-o", tmp_path / "all.npz"),
        ("index", model, place, "-o", tmp_path / "index"),
    ):
        said = fairground(*words)
        assert said.code == 2
        assert said.err.rstrip().rsplit("fairground: ", 1)[-1].count("\n") == 0
        assert "Traceback" not in said.err


def test_what_may_not_be_read_is_named(
    model: Path, fairground: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folders.class_folders(tmp_path / "photos", n_classes=3)
    forbidden = root / "class 1" / "2.png"
    real = Path.open

    def guarded(path: Path, *arguments: object, **more: object) -> object:
        # Root may read everything.
        if path == forbidden:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **more)

    monkeypatch.setattr(Path, "open", guarded)
    assert "Permission denied" in fairground("data", "check", root).out
    said = fairground("embed", model, root, "-o", tmp_path / "all.npz")
    assert said.code == 2
    assert "2.png' cannot be read: Permission denied" in said.err
    assert fairground("embed", model, root, "-o", tmp_path / "all.npz", "--skip-unreadable").code == 0


def test_a_folder_that_may_not_be_looked_into_is_named(
    fairground: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folders.class_folders(tmp_path / "photos", n_classes=3)
    real = os.scandir

    def guarded(path: object = ".") -> object:
        if str(path).endswith("class 1"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", guarded)
    said = fairground("data", "check", root)
    assert said.code == 2
    assert f"cannot look into the folder {root / 'class 1'}: Permission denied" in said.err


def test_very_many_classes_train_and_are_searched(fairground: Run, tmp_path: Path) -> None:
    colours = np.random.default_rng(0).normal(size=(5000, 1, 16))
    near = colours + 0.1 * np.random.default_rng(1).normal(size=(5000, 2, 16))
    path = tmp_path / "many.npz"
    np.savez(path, features=near.reshape(-1, 16).astype(np.float32), labels=np.repeat(np.arange(5000), 2))
    assert "10000 images of 5000 classes" in fairground("data", "check", path).out
    words = ("head.embedding_dim=8", "training.epochs=1", "training.batches_per_epoch=2", "sampler.per_class=2")
    home = ("--home", tmp_path / "home")
    trained = fairground("train", "-p", "features", f"data.path={path}", *words, *home, "-q", "--json")
    assert trained.code == 0
    name = json.loads(trained.out)["name"]
    assert fairground("index", name, path, "-o", tmp_path / "index", *home, "-q").code == 0
    found = fairground("query", tmp_path / "index", path, "-k", 1, "--json")
    assert len(json.loads(found.out)["answers"]) == 10_000
