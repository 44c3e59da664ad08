"""Heads on features, last stages on cached maps, one network for both: what is trained, and the same each time."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fairground.errors import SealError
from fairground.functional.principal_components import principal_axes, principal_axes_of_few
from fairground.recommendation.candidates import Candidate, plain
from fairground.recommendation.cross_validation import ClassFolds, cross_validate
from fairground.spec import ALL, load_run
from fairground.training import BLOCK, PLAIN, AdaptedModel, Workbench, round_robin
from tests.commands.quick_race import write_features
from tests.datasets.pictures import class_folders

WORDS = {"head": "residual", "head.rank": 4, "loss": "sup_con"}
SUP_CON = Candidate(start="residual", loss="SupCon", overrides=WORDS, rate=0.001, steps=20)
PHOTOGRAPHS = {"trunk": "small_conv", "trunk.widths": [4, 6, 8], "data.prepared": 0}
PHOTOGRAPHS |= {"transform": "mlrc2020", "transform.side": 16}


@pytest.fixture
def features(tmp_path):
    base = {"data.path": str(write_features(tmp_path / "made.npz")), "split": "random_halves"}
    return base, Workbench(load_run(protocol="features", overrides=base), is_small=False)


@pytest.fixture
def photographs(tmp_path, own_cache):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=4)
    base = {"data.root": str(root), "split": "random_halves", **PHOTOGRAPHS}
    bench = Workbench(load_run(protocol="photographs", overrides=base), is_small=False)
    bench.embed(bench.seen)
    return base, bench


def scores(bench, base, candidate):
    folds = ClassFolds(rows=bench.seen, labels=bench.table.labels[bench.seen], seed=0)
    return cross_validate(bench, folds, candidate.spec("features", base, 0), 0, ("recall@1", "map@r"))


def test_the_test_rows_are_sealed_and_no_class_is_shared(features):
    _, bench = features
    with pytest.raises(SealError):
        bench.sealed.open()
    bench.sealed.end_selection("a choice")
    test = bench.sealed.open()
    assert not set(bench.table.labels[test]) & set(bench.table.labels[bench.seen])


def test_folds_score_every_class_that_is_seen(features):
    found = scores(features[1], features[0], SUP_CON)
    assert len(found["map@r"]) == 6
    assert 0 < found["map@r"].mean() < found["recall@1"].mean() <= 1


def test_a_method_that_diverges_has_the_worst_score(features, monkeypatch):
    base, bench = features
    monkeypatch.setattr(AdaptedModel, "embed", lambda _, rows: torch.full((len(rows), 4), torch.nan))
    assert not any(values.any() for values in scores(bench, base, SUP_CON).values())


def test_the_axes_of_few_features_are_those_of_the_covariance():
    given = torch.randn(12, 30, generator=torch.Generator().manual_seed(0))
    few, usual = principal_axes_of_few(given), principal_axes([given], standardise=False)
    assert torch.allclose(few.axes[:8], usual.axes[:8], atol=1e-6)
    assert torch.allclose(few.spread[:8], usual.spread[:8], atol=1e-6)
    assert torch.allclose(few.mean, usual.mean)
    assert few.n == usual.n == 12


@pytest.mark.parametrize("depth", [1, 2])
def test_untrained_last_stages_on_maps_give_the_features_of_the_trunk(photographs, depth):
    base, bench = photographs
    rows = np.sort(bench.seen)
    assert bench.embed_maps(rows, depth=depth, views=2)
    still = replace(plain("still"), depth=depth, depth_steps=1, depth_lr=0.0)
    adapted = bench.fit(still.spec("photographs", base, 0), rows)
    expected = bench.features.evaluate(bench.table.images, rows)
    # maps are kept in half precision
    assert torch.allclose(adapted.embed(rows), expected, atol=2e-2)
    assert bench.n_views(depth) == 2


def test_trained_last_stages_become_part_of_one_network_for_pictures(photographs):
    base, bench = photographs
    rows = np.sort(bench.seen)
    bench.embed_maps(rows, depth=2, views=1)
    tuned = replace(SUP_CON, steps=2, depth=2, depth_steps=3, depth_lr=0.01)
    adapted = bench.fit(tuned.spec("photographs", base, 0), rows)
    full = bench.full_model(adapted)
    images = bench.transform.evaluate(bench.table.images, rows)
    assert torch.allclose(full(images), adapted.embed(rows), atol=5e-2)
    before, after = bench.trunk.stages, full.trunk.stages
    assert all(torch.equal(a, b) for a, b in zip(before[0].parameters(), after[0].parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(before[2].parameters(), after[2].parameters(), strict=True))


def test_the_complete_network_is_trained_on_images(photographs):
    base, bench = photographs
    rows = np.sort(bench.seen)
    tuned = replace(SUP_CON, steps=2, depth=ALL, depth_steps=2, depth_lr=0.01)
    adapted = bench.fit(tuned.spec("photographs", base, 0), rows)
    full = bench.full_model(adapted)
    images = bench.transform.evaluate(bench.table.images, rows)
    assert torch.allclose(full(images), adapted.embed(rows), atol=1e-4)
    before, after = bench.trunk.stages, full.trunk.stages
    assert not all(torch.equal(a, b) for a, b in zip(before[0].parameters(), after[0].parameters(), strict=True))


@pytest.fixture
def made(tmp_path):
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
