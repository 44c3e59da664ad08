"""A pilot measures what a run costs, leaves nothing behind, and a first look tells what the choice rests on."""

from pathlib import Path

from fairground.spec.identity import name_of, to_plain
from fairground.training.cost_probe import race_job
from fairground.training.dataset_profile import profile_dataset
from tests.training.tiny import tiny


def test_a_cost_probe_prices_a_run_and_leaves_no_file(tmp_path: Path) -> None:
    spec = tiny("training.epochs=1")
    found = race_job({"spec": to_plain(spec), "home": str(tmp_path), "is_cost_probe": True})
    assert list(tmp_path.iterdir()) == []
    assert all(found[key] > 0 for key in ("start", "batch", "look", "opening", "n_batches", "memory"))
    assert found["batch"] < 5


def test_the_same_job_runs_what_is_no_pilot(tmp_path: Path) -> None:
    spec = tiny("training.epochs=1")
    assert race_job({"spec": to_plain(spec), "home": str(tmp_path), "until": 0})["name"] == name_of(spec)


def test_an_outlook_tells_kind_size_and_classes() -> None:
    spec = tiny()
    seen = profile_dataset(spec.data)
    assert seen.is_picture
    assert seen.is_one_size
    assert sum(seen.class_sizes) == seen.n_images
    assert seen.shorter_side > 0
    assert not seen.lists_parts
