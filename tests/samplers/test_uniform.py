"""Uniform: a shuffled pass, or draws with replacement."""

import torch

from fairground.samplers import UniformSampler
from tests.samplers.splits import draws, even_split


def test_an_epoch_visits_every_image_at_most_once():
    sampler = UniformSampler(labels=even_split(5, 10), batch_size=8)
    assert sampler.n_batches == 6
    rows = [row for batch in draws(sampler, 6) for row in batch]
    assert len(set(rows)) == len(rows) == 48


def test_what_is_left_out_changes():
    sampler = UniformSampler(labels=even_split(5, 10), batch_size=8)
    left_out = {frozenset(range(50)) - {row for batch in draws(sampler, 6, seed) for row in batch} for seed in range(5)}
    assert len(left_out) == 5


def test_with_replacement_every_image_is_equally_likely():
    sampler = UniformSampler(labels=torch.zeros(4, dtype=torch.long), batch_size=10, replace=True)
    counts = torch.bincount(torch.tensor(draws(sampler, 1_000)).flatten())
    assert (abs(counts - 2_500) < 5 * 2_500**0.5).all()
