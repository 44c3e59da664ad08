import numpy as np
import pytest

from fairground.spec.load import load_run
from fairground.training.adaptation import BLOCK, Workbench, round_robin
from fairground.training.stage_cache import PLAIN
from tests.datasets.pictures import class_folders
from tests.training.test_adaptation import PHOTOGRAPHS


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=20)
    base = {"data.root": str(root), "split": "random_halves", **PHOTOGRAPHS}
    return root, lambda: Workbench(load_run(protocol="photographs", overrides=base), is_small=False)


def test_every_beginning_of_the_order_has_pairs_of_all_classes():
    labels = np.repeat(np.arange(5), 10)
    order = round_robin(np.arange(50) + 7, labels, 0)
    assert sorted(order) == list(range(7, 57))
    assert np.bincount(labels[order[:10] - 7]).tolist() == [2] * 5
    assert np.bincount(labels[order[:20] - 7]).tolist() == [4] * 5


def test_embedding_stops_with_the_time_and_continues_where_it_was(made):
    bench, heard = made[1](), []
    done = bench.embed(bench.seen, is_time=lambda: len(heard) < 3, tell=lambda *told: heard.append(told))
    assert done.tolist() == bench.seen[: 2 * BLOCK].tolist()
    assert heard == [(0, 80), (32, 80), (64, 80)]
    again = made[1]()
    assert len(again.cache.missing(PLAIN, again.seen)) == 16
    assert again.embed(again.seen).tolist() == again.seen.tolist()
    values = again.cache.read(PLAIN, again.seen)
    own = again.trunk(again.transform.evaluate(again.table.images, again.seen)).detach().numpy()
    assert values == pytest.approx(own, abs=1e-5)


def test_images_that_cannot_be_read_are_left_out(made):
    root, make = made
    bench = make()
    row = int(bench.seen[3])
    path = sorted(root.rglob("*.*"))[row]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    bench = make()
    found = bench.embed(bench.seen)
    assert len(found) == len(bench.seen) - 1
    assert len(bench.cache.missing(PLAIN, bench.seen)) == 0
