"""d2-coreset: picks drawn by distance, with partners of their classes."""

import pytest
import torch

from fairground.errors import InputError
from fairground.samplers import D2CoresetSampler
from tests.samplers.splits import draws, even_split

LABELS = even_split(n_classes=30, size=12)


def test_spread_draws_more_outlying_images():
    embeddings = torch.randn(360, 4, generator=torch.Generator().manual_seed(0))
    lengths = []
    for spread in (0.0, 4.0):
        sampler = D2CoresetSampler(
            labels=LABELS, batch_size=20, per_class=1, spread=spread, density=False, normalise=False
        )
        sampler.fill(embeddings)
        lengths.append(embeddings[torch.tensor(draws(sampler, 20))].norm(dim=-1).mean())
    assert lengths[1] > 1.2 * lengths[0]


def test_density_pulls_towards_the_middle():
    embeddings = torch.randn(360, 4, generator=torch.Generator().manual_seed(0))
    lengths = []
    for density in (True, False):
        sampler = D2CoresetSampler(labels=LABELS, batch_size=20, per_class=1, density=density, normalise=False)
        sampler.fill(embeddings)
        lengths.append(embeddings[torch.tensor(draws(sampler, 20))].norm(dim=-1).mean())
    assert lengths[0] < 0.9 * lengths[1]


def test_refusals():
    with pytest.raises(InputError, match=r"sampler\.spread must be 0 or more; got -1\.0"):
        D2CoresetSampler(labels=LABELS, batch_size=40, spread=-1.0)
    with pytest.raises(InputError, match="picks 500 images per batch; the training split has 360"):
        D2CoresetSampler(labels=LABELS, batch_size=500, per_class=1)
