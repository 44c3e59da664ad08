"""Few-shot adaptation of a stored run: who is shown, what is trained, and that the run stays as it is."""

import numpy as np
import pytest

from fairground.errors import InputError
from fairground.files import read_with_digest
from fairground.records import RunFolder
from fairground.records.store import Store
from fairground.reporting.figure import figures_of
from fairground.reporting.page import inputs_of
from fairground.reporting.run_set import RunSet
from fairground.training import few_shot, few_shot_episodes
from fairground.training.run import run
from tests.training.tiny import tiny


def test_each_class_with_more_images_shows_as_many() -> None:
    labels = np.array([0, 1, 1, 1, 2, 2, 2, 2, 3, 3])
    first, again, other = (few_shot._drawn(labels, 2, seed) for seed in (0, 0, 1))
    assert first.tolist() == again.tolist() == sorted(first.tolist())
    assert first.tolist() != other.tolist()
    assert np.bincount(labels[first]).tolist() == [0, 2, 2]


def test_batches_have_all_images_of_some_classes() -> None:
    classes = np.array([0, 1, 2, 0, 1, 2])
    for rows in few_shot._batches(classes, 4, 5, seed=0):
        assert len(rows) == 4
        assert sorted(np.bincount(classes[rows], minlength=3).tolist()) == [0, 2, 2]


def test_episodes_train_the_head_and_leave_the_run_alone(tmp_path) -> None:
    record = run(tiny(), home=tmp_path)
    Store(tmp_path).append(record)
    name = record.name
    before = sorted((file, file.stat().st_mtime_ns) for file in (tmp_path / "runs" / name).rglob("*.safetensors"))
    found = few_shot_episodes(tmp_path, name, shots=2, episodes=2, steps=30, metrics=["map@r"], device="cpu")
    assert len(found) == 2
    assert found[0].before != found[1].before
    assert all(one.after != one.before for one in found)
    again = few_shot_episodes(tmp_path, name, shots=2, episodes=1, steps=30, metrics=["map@r"], device="cpu")
    assert again == found[:1]
    kept = read_with_digest(RunFolder(tmp_path, name).few_shot)["2"]
    assert (kept["steps"], kept["episodes"]) == (30, [again[0]._asdict()])
    runs = RunSet.in_home([record], tmp_path)
    (figure,) = [one for inputs in inputs_of(runs).values() for one in figures_of(inputs) if "shots" in one.name]
    assert figure.rows[0][1:4] == (2, 100 * again[0].before["map@r"], 100 * again[0].after["map@r"])
    assert before == sorted(
        (file, file.stat().st_mtime_ns) for file in (tmp_path / "runs" / name).rglob("*.safetensors")
    )
    assert len(Store(tmp_path).events(kind="test opened", run=name)) >= 2
    with pytest.raises(InputError, match="shots must be at least 2"):
        few_shot_episodes(tmp_path, name, shots=1)
    with pytest.raises(InputError, match="no test class has more than 999 images"):
        few_shot_episodes(tmp_path, name, shots=999)
