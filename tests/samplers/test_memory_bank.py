"""The memory bank: what is put in comes out, in memory or on disk."""

import numpy as np
import pytest
import torch

from fairground.errors import DataError, DivergedError, InputError
from fairground.samplers import GreedyCoresetSampler
from tests.samplers.splits import seeded

FILLED = torch.arange(12.0).view(6, 2)
each_place = pytest.mark.parametrize("memory_limit", [1.0, 0.0], ids=["in memory", "on disk"])


def empty(**settings):
    settings = {"labels": torch.arange(6), "batch_size": 1, "per_class": 1, "normalise": False} | settings
    return GreedyCoresetSampler(**settings)


def filled(**settings):
    bank = empty(**settings)
    bank.fill(FILLED)
    return bank


@each_place
def test_an_update_overwrites_its_rows_and_no_others(memory_limit):
    bank = filled(memory_limit=memory_limit)
    bank.observe(torch.tensor([4, 1]), torch.tensor([[-1.0, -2.0], [-3.0, -4.0]]))
    expected = FILLED.clone()
    expected[4] = torch.tensor([-1.0, -2.0])
    expected[1] = torch.tensor([-3.0, -4.0])
    assert torch.equal(bank.bank, expected)


@each_place
def test_rows_come_out_in_the_order_asked_for_and_are_copies(memory_limit):
    bank = filled(memory_limit=memory_limit)
    rows = bank.points(torch.tensor([4, 1, 4, 0, 5, 1]), seeded())
    assert rows.tolist() == [[8, 9], [2, 3], [8, 9], [0, 1], [10, 11], [2, 3]]
    rows.zero_()
    assert torch.equal(bank.bank, FILLED)


def test_beyond_the_limit_the_bank_is_a_mapped_file(monkeypatch):
    mapped = []
    memmap = np.memmap
    monkeypatch.setattr(np, "memmap", lambda *file, **settings: mapped.append(1) or memmap(*file, **settings))
    # Six rows of two numbers of four bytes are 48.
    filled(memory_limit=48e-9)
    assert len(mapped) == 0
    filled(memory_limit=47e-9)
    assert len(mapped) == 1


def test_momentum_goes_part_of_the_way():
    bank = filled(momentum=0.75)
    bank.observe(torch.tensor([0]), torch.tensor([[4.0, 5.0]]))
    assert bank.bank[0].tolist() == [1.0, 2.0]


def test_of_a_row_given_twice_the_last_counts():
    bank = filled()
    bank.observe(torch.tensor([2, 2, 3, 2]), torch.tensor([[1.0, 1], [2, 2], [3, 3], [4, 4]]))
    assert bank.bank[2:4].tolist() == [[4, 4], [3, 3]]


def test_normalised_embeddings_have_length_one_even_after_momentum():
    bank = filled(normalise=True, momentum=0.5)
    bank.observe(torch.tensor([1, 2]), torch.randn(2, 2, generator=seeded()))
    lengths = bank.bank.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(6))


@each_place
def test_the_state_brings_the_bank_back(memory_limit):
    bank = filled(memory_limit=memory_limit, normalise=True)
    other = empty(memory_limit=memory_limit, normalise=True)
    other.load_state_dict({name: tensor.clone() for name, tensor in bank.state_dict().items()})
    assert torch.equal(other.bank, bank.bank)
    assert empty().state_dict() == {}


def test_refusals():
    with pytest.raises(InputError, match="the memory bank is empty: `fill` must be called"):
        empty().observe(torch.tensor([0]), torch.ones(1, 2))
    with pytest.raises(DataError, match=r"one embedding for each of 6 images; got \(5, 2\)"):
        empty().fill(torch.ones(5, 2))
    with pytest.raises(DivergedError, match="takes finite embeddings"):
        filled().observe(torch.tensor([0]), torch.tensor([[1.0, float("nan")]]))
