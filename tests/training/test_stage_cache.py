"""What frozen stages gave, kept on disk: the stated error, marks after numbers, and refusals in a sentence."""

import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fairground.errors import DamageWarning, InputError, StoreError
from fairground.evaluation.embed import embed
from fairground.loading.caches import CacheEntry, cache_root, list_caches
from fairground.records.training_events import BatchTrained, StagesCached
from fairground.training import CachedViews, StageCache, StoppedError, evaluate_stored, prepare_inputs, saved_shape
from fairground.training.assemble import assemble
from fairground.training.run import run
from tests.loading.test_prepared_images import flip
from tests.training.tiny import tiny


@pytest.fixture
def cache(tmp_path: Path) -> StageCache:
    folder = tmp_path / "cache" / "stages" / "abcdef"
    return StageCache(folder=folder, n_rows=10, shape=(3, 2, 4), about={"trunk": "small_conv"})


def test_what_is_read_is_what_was_written_within_the_stated_error(cache: StageCache) -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(4, 3, 2, 4, generator=generator) * torch.logspace(-9, 4, 4).view(4, 1, 1, 1)
    rows = np.array([7, 2, 9, 0])
    assert cache.missing("plain", rows).tolist() == [7, 2, 9, 0]
    cache.write("plain", rows, outputs)
    found = cache.laid_out(cache.read("plain", rows), torch.device("cpu"))
    assert found.shape == outputs.shape
    assert found.is_contiguous(memory_format=torch.channels_last)
    allowed = (outputs.abs() * 2.0**-11).clamp(min=2.0**-25)
    assert bool(((found - outputs).abs() <= allowed).all())
    assert cache.missing("plain", np.arange(10)).tolist() == [1, 3, 4, 5, 6, 8]
    assert cache.missing("view-0000", rows).tolist() == [7, 2, 9, 0]
    assert saved_shape(cache.folder) == (3, 2, 4)


def remove_cache(entry: CacheEntry) -> None:
    shutil.rmtree(cache_root(entry.kind) / entry.key)


def test_numbers_that_float16_cannot_hold_are_refused(cache: StageCache) -> None:
    cache.missing("plain", np.arange(2))
    for number in (70000.0, float("nan")):
        with pytest.raises(InputError, match=r"numbers that float16 cannot represent.*training.views=0"):
            cache.write("plain", np.array([1]), torch.full((1, 3, 2, 4), number))
    with pytest.raises(InputError, match=r"give \(3, 2, 2\) for training images but \(3, 2, 4\)"):
        cache.write("plain", np.array([1]), torch.zeros(1, 3, 2, 2))
    assert cache.missing("plain", np.arange(2)).tolist() == [0, 1]


def test_one_process_computes_a_chunk(cache: StageCache) -> None:
    cache.missing("plain", np.arange(1))
    with cache.lock("plain", 0) as first, cache.lock("plain", 0) as second, cache.lock("plain", 1) as other:
        assert (first, second, other) == (True, False, True)


def test_a_cache_removed_under_a_reader_begins_anew(cache: StageCache) -> None:
    cache.missing("plain", np.arange(3))
    cache.write("plain", np.arange(3), torch.ones(3, 3, 2, 4))
    (entry,) = list_caches()
    assert (entry.kind, entry.trunk, entry.n_images) == ("stages", "small_conv", 10)
    remove_cache(entry)
    assert list_caches() == []
    assert cache.missing("plain", np.arange(3)).tolist() == [0, 1, 2]


def test_a_full_disk_is_a_sentence_before_and_while_the_cache_is_written(cache: StageCache) -> None:
    with pytest.raises(StoreError, match=r"lower training\.views"):
        cache.view("plain").require_space(10**18)
    code = (
        "import resource, signal, sys, numpy as np, torch; from pathlib import Path\n"
        "from fairground.training.stage_cache import StageCache\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))\n"
        "cache = StageCache(folder=Path(sys.argv[1]), n_rows=100, shape=(3, 2, 4))\n"
        "cache.write('plain', np.arange(100), torch.ones(100, 3, 2, 4))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(cache.folder)], capture_output=True, text=True, check=False)
    assert "StoreError: cannot write the cache" in done.stderr.splitlines()[-1]


LAST = ("training.trainable=last:1", "training.views=3")


def events_of(*words: str, home: Path) -> tuple[Any, list[StagesCached]]:
    told: list[Any] = []
    record = run(tiny(*words), home=home, listen=told.append)
    return json.loads(record.digits()), [event for event in told if isinstance(event, StagesCached)]


@pytest.mark.parametrize("pooling", ["avg", "avg+max", "gem"])
@pytest.mark.parametrize("trainable", ["last:1", "head"])
def test_embeddings_from_the_cache_are_those_of_the_images_up_to_float16(trainable: str, pooling: str) -> None:
    spec = tiny(f"training.trainable={trainable}", f"trunk.pooling={pooling}")
    plain, rows = assemble(spec), np.arange(40)
    cached = prepare_inputs(assemble(spec), listen=lambda _: None)
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
    events_of(*LAST, "seed=1", home=tmp_path / "four")
    assert len(list_caches()) == 2, "other weights of the frozen stages have a cache of their own"


def test_the_digits_do_not_depend_on_which_rows_were_computed_before(tmp_path: Path) -> None:
    fresh, _ = events_of(*LAST, home=tmp_path / "one")
    shutil.rmtree(tmp_path / "cache")
    spec = tiny(*LAST)
    parts = prepare_inputs(assemble(spec), listen=lambda _: None)
    remove_cache(list_caches()[0])
    odd = np.arange(1, len(parts.table.labels), 5)
    parts.transform.evaluate(parts.table.images, odd)
    assert isinstance(parts.transform, CachedViews)
    parts.transform.fill({"view-0001": odd[::-1]})
    found, _ = events_of(*LAST, home=tmp_path / "two")
    assert found == fresh


DAMAGES = {
    "plain cut": lambda folder: os.truncate(folder / "plain.bin", (folder / "plain.bin").stat().st_size // 2),
    "view gone": lambda folder: (folder / "view-0000.bin").unlink(),
    "one bit": lambda folder: flip(folder / "plain.bin", 0.87),
    "sums cut": lambda folder: os.truncate(folder / "plain.sums", 300),
    "other shape": lambda folder: (folder / "index.json").write_text('{"n": 192, "shape": [64, 4, 4]}'),
}


def test_a_damaged_cache_gives_the_right_results_and_says_so(tmp_path: Path) -> None:
    fresh, _ = events_of(*LAST, home=tmp_path / "fresh")
    (folder,) = (tmp_path / "cache" / "stages").iterdir()
    for number, (damage, do) in enumerate(DAMAGES.items()):
        do(folder)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert events_of(*LAST, home=tmp_path / str(number))[0] == fresh, damage
        is_said = any(issubclass(one.category, DamageWarning) for one in told)
        assert is_said != ("index" in damage or "shape" in damage), damage


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
    alone = prepare_inputs(assemble(spec), listen=lambda _: None)
    rows = alone.split.train
    wanted = [alone.transform.cache.read(f"view-{view:04d}", rows) for view in range(3)]  # type: ignore[attr-defined]
    remove_cache(list_caches()[0])
    told: list[list[Any]] = [[], []]
    workers = [
        threading.Thread(target=lambda own=own: prepare_inputs(assemble(spec), listen=own.append)) for own in told
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(own and own[-1].n_done == own[-1].n_views for own in told if own)
    both = prepare_inputs(assemble(spec), listen=lambda _: None)
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
