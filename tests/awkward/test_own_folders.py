"""What a new user's folder may be like: every path ends in a result, or in a sentence that says what to do."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from fairground.commands.main import main
from fairground.spec.settings import parse_overrides
from tests.datasets.pictures import NASTY, class_folders, picture

CLASSES = [f"class {number}" for number in range(10)]
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
    from fairground.deploy.model_folder import model_of_run, write_model
    from fairground.records.store import Store
    from fairground.spec.load_run_spec import load_run
    from fairground.training.run import run

    place = tmp_path_factory.mktemp("model")
    root = class_folders(place / "photos", CLASSES, per_class=4)
    spec = load_run(overrides=parse_overrides(["data=folder", f"data.root={root}", *TRAIN]))
    record = run(spec, home=place / "home")
    Store(place / "home").append(record)
    write_model(model_of_run(place / "home", record.name), place / "model")
    return place / "model"


def corrupt(root: Path) -> Path:
    """Three files that cannot be read, and one that is there twice."""
    class_folders(root, CLASSES, per_class=4)
    (root / "class 0" / "0.png").write_bytes(b"")
    whole = (root / "class 1" / "1.png").read_bytes()
    (root / "class 1" / "1.png").write_bytes(whole[: len(whole) // 2])
    (root / "class 2" / "2.png").write_bytes(b"no picture")
    (root / "class 3" / "again.png").write_bytes((root / "class 3" / "0.png").read_bytes())
    return root


def odd_names(root: Path) -> Path:
    """Names that break careless programs."""
    for number, name in enumerate((*NASTY, "new\nline", "=eq", "[brackets]")):
        for image in range(4):
            picture(root / name / f"{image} 'q' \"d\" 😀.png", 10 * number + image)
    return root


def odd_modes(root: Path) -> Path:
    """Every kind of pixel a picture may have."""
    class_folders(root, CLASSES, per_class=4)
    for number in range(10):
        place = root / f"class {number}"
        for seed, (kind, suffix) in enumerate(
            (("CMYK", "jpg"), ("P", "png"), ("RGBA", "png"), ("LA", "png"), ("1", "png"))
        ):
            picture(place / f"{kind}.{suffix}", 1000 + 10 * number + seed, mode=kind)
        Image.fromarray(np.full((16, 20), number * 6000, np.uint16)).save(place / "deep.png")
    return root


FINE = {"names": odd_names, "modes": odd_modes}


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


def test_classes_of_one_image_are_refused_before_training(fairground: Run, tmp_path: Path) -> None:
    root = class_folders(tmp_path / "photos", CLASSES, per_class=1)
    assert "no class has two images" in fairground("data", "check", root).out
    said = train(fairground, root, tmp_path / "home")
    assert said.code == 2
    assert "give classes two images at least" in said.err
    assert not (tmp_path / "home" / "runs").exists()


def test_corrupt_files_are_all_named_or_left_out_when_asked(model: Path, fairground: Run, tmp_path: Path) -> None:
    root = corrupt(tmp_path / "photos")
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
