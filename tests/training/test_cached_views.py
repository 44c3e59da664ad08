"""Training from outputs kept of frozen stages: shared, resumable, with digits that depend on nobody's history."""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairground.evaluation.embed import embed
from fairground.loading.resized_images import list_caches, remove_cache
from fairground.records.events import BatchTrained, StagesCached
from fairground.training.assemble import assemble
from fairground.training.loop import StoppedError
from fairground.training.run import run
from fairground.training.stage_cache import CachedViews, prepare_inputs
from fairground.training.stored_run import evaluate_stored
from tests.training.test_resume import told_after
from tests.training.tiny import tiny

LAST = ("training.trainable=last:1", "training.views=3")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    torch.set_num_threads(1)


def events_of(*words: str, home: Path) -> tuple[Any, list[StagesCached]]:
    told: list[Any] = []
    record = run(tiny(*words), home=home, listen=told.append)
    return json.loads(record.digits()), [event for event in told if isinstance(event, StagesCached)]


@pytest.mark.parametrize("trainable", ["last:1", "head"])
def test_embeddings_from_the_cache_are_those_of_the_images_up_to_float16(trainable: str, tmp_path: Path) -> None:
    spec = tiny(f"training.trainable={trainable}")
    plain, rows = assemble(spec), np.arange(40)
    cached = prepare_inputs(assemble(spec), spec, listen=lambda _: None)
    wanted = embed(plain.model, plain.table.images, rows, plain.transform)
    found = embed(cached.model, cached.table.images, rows, cached.transform)
    assert torch.allclose(found, wanted, atol=1e-3 * float(wanted.abs().max()))
    assert float(torch.nn.functional.cosine_similarity(found, wanted).min()) > 1 - 1e-5


def test_a_second_run_finds_everything_and_more_views_cost_only_those(tmp_path: Path) -> None:
    first, told = events_of(*LAST, home=tmp_path / "one")
    # 72 training images in three views and 24 validation images; then, at the end, the test half.
    assert [event.n_views for event in told if event.n_done == 0] == [72 * 3 + 24, 96]
    assert told[0].n_bytes == (72 * 3 + 24) * 2 * 8 * 8 * 8
    assert Path(told[0].folder).is_dir()
    again, told = events_of(*LAST, home=tmp_path / "two")
    assert again == first
    assert told == []
    _, told = events_of(*LAST, "loss=contrastive", "training.views=4", home=tmp_path / "three")
    assert [event.n_views for event in told if event.n_done == 0] == [72]
    assert len(list_caches()) == 1


def test_other_weights_of_the_frozen_stages_have_a_cache_of_their_own(tmp_path: Path) -> None:
    events_of(*LAST, home=tmp_path / "one")
    events_of(*LAST, "seed=1", home=tmp_path / "two")
    assert len(list_caches()) == 2


def test_the_digits_do_not_depend_on_which_rows_were_computed_before(tmp_path: Path) -> None:
    fresh, _ = events_of(*LAST, home=tmp_path / "one")
    shutil.rmtree(tmp_path / "cache")
    spec = tiny(*LAST)
    parts = prepare_inputs(assemble(spec), spec, listen=lambda _: None)
    remove_cache(list_caches()[0])
    odd = np.arange(1, len(parts.table.labels), 5)
    parts.transform.evaluate(parts.table.images, odd)
    assert isinstance(parts.transform, CachedViews)
    parts.transform.fill({"view-0001": odd[::-1]})
    found, _ = events_of(*LAST, home=tmp_path / "two")
    assert found == fresh


@pytest.mark.parametrize(
    "deaths", [[("fsync", 2), ("fsync", 3), ("fsync", 2)], [("batch", 1), ("batch", 5), ("batch", 9)]]
)
def test_a_run_killed_in_caching_or_training_ends_with_the_same_digits(
    deaths: list[tuple[str, float]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = told_after(tmp_path / "whole", [], LAST)
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "other"))
    assert told_after(tmp_path / "killed", deaths, LAST) == whole


def test_caching_stops_when_asked_and_goes_on_later(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        run(tiny(*LAST), home=tmp_path / "home", should_stop=lambda: True)
    record = run(tiny(*LAST), home=tmp_path / "home")
    assert record.state == "done"


def test_a_stored_run_is_measured_from_its_images(tmp_path: Path) -> None:
    record = run(tiny(*LAST), home=tmp_path / "home")
    scores = evaluate_stored(tmp_path / "home", record.name, split="validation")
    assert scores["map@r"] == pytest.approx(record.score("map@r", "validation"), abs=5e-3)


def test_many_fill_one_cache_at_once(tmp_path: Path) -> None:
    spec = tiny(*LAST, "data.per_class=40")
    alone = prepare_inputs(assemble(spec), spec, listen=lambda _: None)
    rows = alone.split.train
    wanted = [alone.transform.cache.read(f"view-{view:04d}", rows) for view in range(3)]  # type: ignore[attr-defined]
    remove_cache(list_caches()[0])
    told: list[list[Any]] = [[], []]
    workers = [
        threading.Thread(target=lambda own=own: prepare_inputs(assemble(spec), spec, listen=own.append)) for own in told
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(own and own[-1].n_done == own[-1].n_views for own in told if own)
    both = prepare_inputs(assemble(spec), spec, listen=lambda _: None)
    found = [both.transform.cache.read(f"view-{view:04d}", rows) for view in range(3)]  # type: ignore[attr-defined]
    assert all(np.array_equal(one, other) for one, other in zip(wanted, found, strict=True))


def test_a_cache_removed_while_a_run_trains_is_made_again(tmp_path: Path) -> None:
    fresh, _ = events_of(*LAST, home=tmp_path / "one")
    removed: list[str] = []

    def remove(event: Any) -> None:
        if isinstance(event, BatchTrained) and event.batch == 3 and not removed:
            removed.append("")
            remove_cache(list_caches()[0])

    record = run(tiny(*LAST), home=tmp_path / "two", listen=remove)
    assert removed
    assert json.loads(record.digits()) == fresh
