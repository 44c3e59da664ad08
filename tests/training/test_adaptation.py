"""Heads on features, the network on images, one model for both: what is trained, and the same each time."""

import numpy as np
import pytest
import torch

from fairground.errors import SealError
from fairground.functional.principal_components import principal_axes, principal_axes_of_few
from fairground.spec import AdaptationSpec, load_run
from fairground.training import BLOCK, PLAIN, round_robin
from fairground.training.adaptation import Adaptation, Workbench
from tests.commands.quick_search import write_features
from tests.datasets.pictures import class_folders

PHOTOGRAPHS = {"trunk": "small_conv", "trunk.widths": [4, 6, 8], "data.prepared": 0}
PHOTOGRAPHS |= {"transform": "mlrc2020", "transform.side": 16}
TRAINED = {"loss": "sup_con", "optimiser.lr": 0.01, "optimiser.head_lr": 0.01, "optimiser.average": 0.5}


@pytest.fixture
def features(tmp_path):
    base = {"data.path": str(write_features(tmp_path / "made.npz")), "split": "random_halves"}
    return base, Workbench(load_run(protocol="features", overrides=base))


@pytest.fixture
def photographs(tmp_path, own_cache):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=4)
    base = {"data.root": str(root), "split": "random_halves", **PHOTOGRAPHS}
    bench = Workbench(load_run(protocol="photographs", overrides=base))
    bench.embed(bench.seen)
    return base, bench


def spec_of(base, protocol="photographs", *, head="identity", trains="network", **lengths):
    run = load_run(protocol=protocol, overrides={**base, **TRAINED, "head": head})
    return AdaptationSpec(run=run, trains=trains, **lengths)


def test_the_test_rows_are_sealed_and_no_class_is_shared(features):
    _, bench = features
    with pytest.raises(SealError):
        bench.sealed.open()
    bench.sealed.end_selection("a choice")
    test = bench.sealed.open()
    assert not set(bench.table.labels[test]) & set(bench.table.labels[bench.seen])


def test_the_axes_of_few_features_are_those_of_the_covariance():
    given = torch.randn(12, 30, generator=torch.Generator().manual_seed(0))
    few, usual = principal_axes_of_few(given), principal_axes([given], standardise=False)
    assert torch.allclose(few.axes[:8], usual.axes[:8], atol=1e-6)
    assert torch.allclose(few.spread[:8], usual.spread[:8], atol=1e-6)
    assert torch.allclose(few.mean, usual.mean)
    assert few.n == usual.n == 12


def test_a_head_is_trained_on_features_and_a_longer_training_begins_as_a_shorter_one(features):
    base, bench = features
    rows = np.sort(bench.seen)
    base = {**base, "head.rank": 4}
    made = {n: bench.fit(spec_of(base, "features", head="residual", trains="head", steps=n), rows) for n in (0, 3, 6)}
    longer = Adaptation(bench, spec_of(base, "features", head="residual", trains="head", steps=6), rows)
    for _ in range(3):
        longer.step()
    assert torch.equal(longer.embedded(rows), made[3].embed(rows))
    assert not torch.allclose(made[0].embed(rows), made[3].embed(rows))
    assert not torch.allclose(made[3].embed(rows), made[6].embed(rows))


def test_a_closed_form_after_training_is_fitted_to_the_trained_features(photographs):
    base, bench = photographs
    rows = np.sort(bench.seen)
    plain = bench.fit(spec_of(base, steps=4), rows)
    fitted = bench.fit(spec_of(base, head="plda", steps=4), rows)
    head = bench.head(fitted_spec(base), 0)
    _, labels = np.unique(bench.table.labels[rows], return_inverse=True)
    head.fit_classes([plain.embed(rows)], torch.from_numpy(labels))
    with torch.no_grad():
        assert torch.allclose(fitted.embed(rows), head(plain.embed(rows)), atol=1e-4)


def fitted_spec(base):
    return spec_of(base, head="plda").run.head


def test_the_complete_network_is_trained_on_images_and_mixed_with_the_published_weights(photographs):
    base, bench = photographs
    rows = np.sort(bench.seen)
    made = {share: bench.fit(spec_of(base, steps=3, published=share), rows) for share in (0.0, 0.5, 1.0)}
    full = bench.full_model(made[0.0])
    images = bench.transform.evaluate(bench.table.images, rows)
    assert torch.allclose(full(images), made[0.0].embed(rows), atol=1e-4)
    first, trained, half = (
        next(model.parameters()) for model in (bench.trunk, made[0.0].model.trunk, made[0.5].model.trunk)
    )
    assert not torch.equal(first, trained)
    assert torch.allclose(half, (first + trained) / 2, atol=1e-7)
    assert torch.allclose(made[1.0].embed(rows), bench.features.evaluate(bench.table.images, rows), atol=1e-4)


@pytest.fixture
def pretrained(tmp_path, own_cache):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=4)
    base = {"data.root": str(root), "split": "random_halves", "data.prepared": 0, "transform.side": 64}
    base["transform.shorter_side"] = 64
    bench = Workbench(load_run(protocol="photographs", overrides=base))
    bench.embed(bench.seen)
    return base | {"training.trainable": f"last:{bench.n_last}"}, bench


def test_the_last_stages_are_trained_on_cached_maps_and_end_as_one_network(pretrained):
    base, bench = pretrained
    rows = np.sort(bench.seen)
    trained = bench.fit(spec_of(base, steps=2), rows)
    full = bench.full_model(trained)
    with torch.no_grad():
        images = full(bench.transform.evaluate(bench.table.images, rows))
    # Maps are kept as halves.
    assert torch.allclose(images, trained.embed(rows), atol=0.02 * float(images.abs().max()))
    assert bench.n_last == 4
    for number, (first, now) in enumerate(zip(bench.trunk.stages, full.trunk.stages, strict=True)):
        is_same = all(torch.equal(*pair) for pair in zip(first.parameters(), now.parameters(), strict=True))
        assert is_same == (number < len(bench.trunk.stages) - bench.n_last)


def test_maps_train_as_squares_of_one_size_mirrored_or_not(pretrained):
    _, bench = pretrained
    rows, images = bench.seen[:6], bench.table.images
    maps, seen = bench.maps.evaluate(images, rows), set()
    for seed in range(8):
        plan = bench.maps.plan(images, rows, torch.Generator().manual_seed(seed))
        batch = plan.make(slice(0, 6))
        assert torch.equal(plan.make(slice(2, 4)), batch[2:4])
        side, full = batch.shape[-1], maps.shape[-1]
        for one, whole in zip(batch, maps, strict=True):
            places = [(y, x) for y in range(full - side + 1) for x in range(full - side + 1)]
            squares = [whole[:, y : y + side, x : x + side] for y, x in places]
            seen |= {(side, "as it is") for square in squares if torch.equal(one, square)}
            seen |= {(side, "mirrored") for square in squares if torch.equal(one, square.flip(2))}
            assert any(torch.equal(one, square) or torch.equal(one, square.flip(2)) for square in squares)
    assert {side for side, _ in seen} == {3, 4}
    assert {how for _, how in seen} == {"as it is", "mirrored"}


@pytest.fixture
def made(tmp_path):
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=20)
    base = {"data.root": str(root), "split": "random_halves", **PHOTOGRAPHS}
    return root, lambda: Workbench(load_run(protocol="photographs", overrides=base))


def test_rows_that_were_not_embedded_are_embedded_when_they_are_read(photographs, tmp_path, monkeypatch):
    base, bench = photographs
    wanted = bench.features.evaluate(bench.table.images, bench.seen)
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "empty"))
    fresh = Workbench(load_run(protocol="photographs", overrides=base))
    found = fresh.features.evaluate(fresh.table.images, fresh.seen)
    assert torch.allclose(found, wanted)
    assert float(found.abs().max()) > 0


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
