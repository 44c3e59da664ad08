"""A small place in which the commands of the pages work: pictures, tables, features, runs, a study in its own home."""

import contextlib
import fcntl
import io
import json
import shutil
from pathlib import Path

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from fairground.commands.main import app
from fairground.datasets.icons import IconsDataset
from fairground.records.store import Store
from fairground.spec import load_run, load_study, parse_overrides
from fairground.studies.executors.executor import Executor
from fairground.studies.run_study import run_study
from fairground.training.run import run
from tests.commands.test_study import STUDY
from tests.training.tiny import tiny_words

SMALL = ("training.epochs=1", 'evaluation.metrics=["recall@1", "map@r"]')
#: the names of runs that the pages show, and what was really run for each
RUNS = {
    "3f2a": ("loss=contrastive", "seed=0"),
    "77c1": ("loss=triplet", "seed=0"),
    "9b0e": ("loss=contrastive", "seed=1"),
    "": ("loss=triplet", "seed=1"),
}
SMALL_STUDY = STUDY.replace("repeats = 2", "repeats = 1").replace("trials = 2", "trials = 1")


def shared_workshop(root: Path) -> Path:
    """Return the workshop below a folder that all test processes share; the first to come builds it."""
    place = root / "workshop"
    with (root / "workshop.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "names.json").is_file():
            _build(place)
    return place


def _build(place: Path) -> None:
    (place / "study").mkdir(parents=True)
    runs = place / "runs"
    _pictures(runs)
    _tables(runs)
    names = {}
    for shown, words in RUNS.items():
        record = run(load_run(overrides=parse_overrides(tiny_words(*SMALL, *words))), home=runs / "fairground-runs")
        Store(runs / "fairground-runs").append(record)
        names[shown] = record.name
    with contextlib.chdir(runs):
        _call("export", names["3f2a"], "-o", "my_model")
        _call("index", "my_model", "my_photos", "-o", "my_index", "--quiet")
        Path("icons.json").write_text(_call("data", "check", "my_photos", "--json"))
    (place / "tiny.toml").write_text(SMALL_STUDY)
    study = load_study(str(place / "tiny.toml"))
    run_study(study, home=place / "study" / "fairground-runs", spawn=Executor)
    (place / "names.json").write_text(json.dumps(names))


def _pictures(place: Path) -> None:
    icons = IconsDataset().load()
    for label in range(8):
        folder = place / "my_photos" / icons.class_names[label]
        folder.mkdir(parents=True)
        for number, row in enumerate(np.flatnonzero(icons.labels == label)[:6]):
            pixels = icons.images.take(np.array([row]))[0, 0].numpy()
            Image.fromarray(pixels).resize((64, 64)).convert("RGB").save(folder / f"{number}.jpg")
    shutil.copy(folder / "0.jpg", place / "picture.jpg")
    shutil.copy(folder / "0.jpg", place / "another.jpg")
    shutil.copytree(place / "my_photos", place / "birds")
    for name in ("new_photos", "changed_photos"):
        shutil.copytree(place / "my_photos" / "anchor", place / name / "anchor")


def _tables(place: Path) -> None:
    files = sorted((place / "my_photos").rglob("*.jpg"))
    half = sorted({path.parent.name for path in files})[:4]
    halves = [(path, "train" if path.parent.name in half else "test") for path in files]
    lines = [f"{path.relative_to(place)},{path.parent.name},{part}" for path, part in halves]
    (place / "table.csv").write_text("path,label,split\n" + "\n".join(lines) + "\n")
    random = np.random.default_rng(0)
    labels = np.arange(240) // 12
    vectors = (random.normal(size=(20, 32))[labels] + random.normal(size=(240, 32))).astype(np.float32)
    np.savez(place / "features.npz", features=vectors, labels=labels)
    for name in ("embeddings", "my_embeddings", "vectors"):
        np.savez(place / f"{name}.npz", embeddings=vectors, labels=labels)
    tags = np.array(["red", "red|round", "round|small"])[np.arange(240) % 3]
    np.savez(place / "tagged.npz", features=vectors, labels=tags)
    np.savez(place / "embedded.npz", embeddings=vectors, labels=tags)
    (place / "my_run.toml").write_text('[loss]\nname = "triplet"\n')
    (place / "mine.toml").write_text('protocol = "photographs"\n[data]\nname = "folder"\nroot = "birds"\n')
    (place / "my_study.toml").write_text('extends = "tiny"\n')


def _call(*words: str) -> str:
    with contextlib.redirect_stderr(io.StringIO()):
        result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, (words, result.output)
    return result.output
