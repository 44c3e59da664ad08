"""SPC-R: random images and one partner."""

import pytest
import torch

from fairground.samplers import PerClassRandomSampler
from tests.samplers.splits import draws, even_split, uneven_split


@pytest.mark.parametrize("uniform_over", ["samples", "classes"])
def test_the_last_image_has_a_partner_of_its_class(uniform_over):
    labels = even_split(n_classes=200, size=3)
    for batch in draws(PerClassRandomSampler(labels=labels, batch_size=9, uniform_over=uniform_over), 200):
        partners = [row for row in batch[:-1] if labels[row] == labels[batch[-1]]]
        assert partners
        assert any(row != batch[-1] for row in partners)
        if uniform_over == "samples":
            assert len(set(batch[:-1])) == 8


def test_the_two_forms_differ_in_what_is_equally_likely():
    labels = uneven_split(sizes=(10, 90))
    for uniform_over, share in (("samples", 0.1), ("classes", 0.5)):
        sampler = PerClassRandomSampler(labels=labels, batch_size=11, uniform_over=uniform_over)
        rows = torch.tensor(draws(sampler, 1_000))[:, :-1]
        assert (labels[rows] == 0).double().mean().item() == pytest.approx(share, abs=0.025)


def test_partners_are_uniform_over_the_others_of_the_class():
    labels = torch.zeros(4, dtype=torch.long)
    batches = torch.tensor(draws(PerClassRandomSampler(labels=labels, batch_size=2), 6_000))
    counts = torch.zeros(4, 4).index_put_((batches[:, 0], batches[:, 1]), torch.ones(6_000), accumulate=True)
    assert counts.diagonal().sum() == 0
    off_diagonal = counts[~torch.eye(4, dtype=torch.bool)]
    assert (abs(off_diagonal - 500) < 5 * 500**0.5).all()


def test_a_lone_image_is_its_own_partner_and_told():
    sampler = PerClassRandomSampler(labels=torch.arange(5), batch_size=3)
    for batch in draws(sampler, 10):
        assert batch[2] in batch[:2]
    assert sampler.notes() == ("5 classes have one image, which is its own partner when chosen",)
    assert PerClassRandomSampler(labels=even_split(), batch_size=3).notes() == ()
