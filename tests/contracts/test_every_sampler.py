"""What every sampler owes: whole batches of rows that exist, the same for the same seed, and exact resume anywhere."""

import inspect

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch.utils.data import DataLoader, TensorDataset

from fairground.spec.catalogue import find, list_room
from tests.samplers.splits import clustered, even_split, seeded, uneven_split

BATCH = 24
SPLITS = {"even": even_split(n_classes=12, size=9), "uneven": uneven_split(sizes=(1, 2, 3, 5, 8, 13, 21, 9, 9, 30))}
#: settings besides the defaults under which the promises must hold as well
VARIANTS = {
    "per_class": [{"replace_classes": True, "replace_samples": True}, {"per_class": 8}, {"per_class": 3}],
    "m_per_class": [{"straddle": True, "list_length": 300}, {"straddle": True, "per_class": 5}, {"per_class": 6}],
    "per_class_random": [{"uniform_over": "classes"}],
    "uniform": [{"replace": True}],
    "balanced": [{"per_class": 6}],
    "hierarchical": [{"super_per_batch": 3, "per_class": 2}],
    "fixed_tuples": [{"shuffle": False}],
    "greedy_coreset": [{"softened": True, "mine": "epoch"}, {"roth_code": True}, {"projection": 2, "momentum": 0.5}],
    "distance_distribution": [{"cost": "roth_code", "mine": "epoch"}, {"replace_classes": True, "update": False}],
    "frechet": [{"mine": "epoch", "memory_limit": 0.0}, {"replace_classes": True, "normalise": False}],
    "d2_coreset": [{"density": False, "mine": "epoch"}, {"spread": 2.0, "projection": 3}],
}
CASES = [
    pytest.param(name, settings, split, id=f"{name}-{split}-{settings}")
    for name in list_room("samplers")
    for settings in [{}, *VARIANTS.get(name, [])]
    for split in SPLITS
]
each_sampler = pytest.mark.parametrize("name", list_room("samplers"))
each_case = pytest.mark.parametrize(("name", "settings", "split"), CASES)


@pytest.fixture(scope="module")
def tuples_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tuples") / "tuples.csv"
    path.write_text("".join(f"{i},{i + 1},{i + 2}\n" for i in range(80)), encoding="utf-8")
    return str(path)


@pytest.fixture
def build(tuples_file):
    def build_one(name, settings, labels, batch_size=BATCH):
        kind = find("samplers", name)
        facts = {"super_labels": labels % 3, "file": tuples_file}
        wanted = {fact: value for fact, value in facts.items() if fact in inspect.signature(kind).parameters}
        return kind(labels=labels, batch_size=batch_size, **wanted, **settings)

    return build_one


def walk(sampler, labels, generator, n):
    """Draw n whole batches of rows that exist, as training would, with embeddings that change as it goes on."""
    batches = []
    for _ in range(n):
        rows = sampler.draw(generator)
        assert (rows.shape, rows.dtype) == ((BATCH,), torch.long)
        assert 0 <= rows.min() <= rows.max() < len(labels)
        sampler.observe(rows, clustered(labels, seed=len(batches) + int(rows.sum()))[rows])
        batches.append(rows)
    return batches


@each_case
def test_a_run_resumed_in_the_middle_of_an_epoch_draws_the_same(name, settings, split, build):
    labels, n_before = SPLITS[split], 4 if settings else 1
    first = build(name, settings, labels)
    generator = seeded(3)
    first.fill(clustered(labels))
    first.start_epoch(generator)
    walk(first, labels, generator, 7)
    first.start_epoch(generator)
    walk(first, labels, generator, n_before)

    # Through bytes, as a checkpoint goes.
    state = load(save({key: tensor.clone() for key, tensor in first.state_dict().items()}))
    resumed, copied = build(name, settings, labels), torch.Generator()
    resumed.load_state_dict(state)
    copied.set_state(generator.get_state())

    n_after = first.n_batches + 2
    expected = walk(first, labels, generator, n_after)
    assert all(torch.equal(a, b) for a, b in zip(walk(resumed, labels, copied, n_after), expected, strict=True))
    first.start_epoch(generator)
    resumed.start_epoch(copied)
    assert torch.equal(resumed.draw(copied), first.draw(generator))


@each_sampler
def test_a_batch_is_the_caller_s_to_change(name, build):
    labels = SPLITS["even"]
    drawn = []
    for spoil in (False, True):
        sampler, generator = build(name, {}, labels), seeded()
        sampler.fill(clustered(labels))
        batches = []
        for _ in range(4):
            rows = sampler.draw(generator)
            batches.append(rows.clone())
            if spoil:
                rows.zero_()
        drawn.append(torch.stack(batches))
    assert torch.equal(*drawn)


@each_sampler
def test_labels_are_only_compared(name, build):
    labels = SPLITS["uneven"]
    names = torch.tensor([-6, 3, 9, 30, 33, 36, 99, 120, 150, 3 * 10**12])
    names += torch.arange(10) % 3
    drawn = []
    for these in (labels, names[labels]):
        sampler = build(name, {}, these)
        sampler.fill(clustered(labels))
        drawn.append(sampler.draw(seeded()))
    assert torch.equal(*drawn)


@each_sampler
def test_samplers_that_look_at_embeddings_say_so(name, build):
    labels = SPLITS["even"]
    sampler = build(name, {}, labels)
    if sampler.needs_embeddings:
        sampler.fill(clustered(labels))
        assert sampler.state_dict()["bank"].shape == (len(labels), 8)
    else:
        before = sampler.state_dict()
        sampler.fill(clustered(labels))
        sampler.observe(torch.arange(3), torch.ones(3, 8))
        assert sampler.state_dict() == before


def passes(sampler, labels, n=1):
    """The batches of n passes as a DataLoader would take them, shown embeddings that change as it goes on."""
    given = []
    for _ in range(n):
        for rows in sampler:
            sampler.observe(torch.tensor(rows), clustered(labels, seed=sum(rows))[rows])
            given.append(rows)
    return given


@each_case
def test_any_loader_takes_it_as_its_batch_sampler(name, settings, split, build):
    labels = SPLITS[split]
    sampler = build(name, settings, labels)
    sampler.fill(clustered(labels))
    batches = list(DataLoader(TensorDataset(torch.arange(len(labels)), labels), batch_sampler=sampler))
    assert len(batches) == len(sampler) == sampler.n_batches
    assert sampler.batch_size == BATCH
    for rows, classes in batches:
        assert rows.shape == (BATCH,)
        assert torch.equal(classes, labels[rows])


@each_case
def test_batches_of_a_pass_follow_from_seed_and_epoch(name, settings, split, build):
    labels = SPLITS[split]
    whole = build(name, {**settings, "seed": 5}, labels)
    whole.fill(clustered(labels))
    torch.manual_seed(1)
    epochs = [passes(whole, labels) for _ in range(3)]
    again = build(name, {**settings, "seed": 5}, labels)
    again.fill(clustered(labels))
    torch.manual_seed(2)
    given = [rows for epoch in epochs for rows in epoch]
    assert passes(again, labels, 3) == given
    if not whole.needs_embeddings:
        third = build(name, {**settings, "seed": 5}, labels)
        third.set_epoch(2)
        assert list(third) == epochs[2]
    if settings.get("shuffle", True):
        other = build(name, {**settings, "seed": 6}, labels)
        other.fill(clustered(labels))
        assert passes(other, labels, 3) != given


@each_case
def test_a_pass_stopped_anywhere_goes_on_where_it_was(name, settings, split, build):
    labels = SPLITS[split]
    for n_before, is_epoch_set in ((0, False), (1, True), (2, False), (None, True)):
        first, resumed = (build(name, {**settings, "seed": 1}, labels) for _ in range(2))
        first.fill(clustered(labels))
        passes(first, labels)
        under_way, rest = iter(first), []
        for number in range(first.n_batches):
            if number == n_before:
                resumed.load_state_dict(load(save({key: tensor.clone() for key, tensor in first.state_dict().items()})))
            rows = next(under_way)
            first.observe(torch.tensor(rows), clustered(labels, seed=sum(rows))[rows])
            rest += [rows] * (n_before is not None and number >= n_before)
        if n_before is None or n_before >= first.n_batches:
            resumed.load_state_dict(load(save({key: tensor.clone() for key, tensor in first.state_dict().items()})))
        assert list(under_way) == []
        if is_epoch_set:
            resumed.set_epoch(1)
        assert passes(resumed, labels) == rest
        assert passes(resumed, labels) == passes(first, labels)


@each_sampler
def test_labels_may_be_numpy_s(name, build):
    labels = SPLITS["even"]
    drawn = []
    for these in (labels, labels.numpy(), labels.numpy().astype("uint8"), labels.int()):
        sampler = build(name, {}, these)
        sampler.fill(clustered(labels))
        drawn.append(passes(sampler, labels))
    assert drawn[1:] == drawn[:1] * 3


@each_sampler
def test_two_passes_at_once_are_refused(name, build):
    labels = SPLITS["even"]
    sampler = build(name, {}, labels)
    sampler.fill(clustered(labels))
    first, second = iter(sampler), iter(sampler)
    next(first)
    next(second)
    with pytest.raises(ValueError, match="another pass over this sampler began"):
        next(first)


@each_sampler
def test_bad_input_is_a_value_error(name, build):
    for settings, batch_size in (({"seed": -1}, BATCH), ({}, 0)):
        with pytest.raises(ValueError, match=r"must be|at least"):
            build(name, settings, SPLITS["even"], batch_size)


@each_sampler
def test_labels_that_are_no_numbers_are_refused(name):
    takes = inspect.signature(find("samplers", name)).parameters
    facts = {key: value for key, value in {"super_labels": np.zeros(60), "file": __file__}.items() if key in takes}
    with pytest.raises(ValueError, match="one integer label per training image"):
        find("samplers", name)(labels=np.array(["a", "b"] * 30), batch_size=BATCH, **facts)
