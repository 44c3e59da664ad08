"""Losses on a miner's pairs and triplets, repeats included, against pytorch-metric-learning 2.9 on the same indices.

Left out: angular, whose peer takes all negatives of an anchor whatever the miner chose; histogram, whose peer makes
triplets of the pairs; N-pair over all positives, which the peer does not have.
"""

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from fairground.spec.catalogue import find
from tests.losses import loops
from tests.losses.peers import PEERS

NAMES = [
    "n_pair",
    "nt_xent",
    "lifted_structure",
    "generalised_lifted_structure",
    "multi_similarity",
    "sup_con",
    "circle",
    "tuplet_margin",
]


def _batch(seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(6).repeat_interleave(4)[torch.randperm(24, generator=generator)]
    embeddings = torch.randn(24, 8, generator=generator, dtype=torch.float64)
    same = labels.unsqueeze(1) == labels
    near, far = same.clone().fill_diagonal_(False).nonzero(), (~same).nonzero()
    # Every anchor keeps one positive and one negative at least: where it has none the peer's empty sums are zeros.
    anchor = torch.cat([torch.arange(24), torch.randint(24, (40,), generator=generator)])
    positive = torch.stack([_any(near, a, generator) for a in anchor.tolist()])
    negative = torch.stack([_any(far, a, generator) for a in anchor.tolist()])
    return embeddings, labels, Triplets(anchor, positive, negative)


def _any(pairs, anchor, generator):
    choices = pairs[pairs[:, 0] == anchor, 1]
    return choices[torch.randint(len(choices), (), generator=generator)]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("kind", [Triplets, Pairs])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", NAMES)
def test_value_and_gradient_agree(name, seed, kind):
    embeddings, labels, triplets = _batch(seed)
    tuples = triplets
    if kind is Pairs:
        half = triplets.size // 2
        tuples = Pairs(triplets.anchor[:half], triplets.positive[:half], triplets.anchor, triplets.negative)
    peer = PEERS[name][0]
    ours = loops.gradient_of(find("losses", name)(**peer.ours), embeddings, labels, tuples)
    theirs = loops.gradient_of(peer.theirs(6, 8).double(), embeddings, labels, tuple(tuples))
    assert ours[0] == pytest.approx(theirs[0], rel=1e-9)
    torch.testing.assert_close(ours[1], theirs[1], rtol=0, atol=1e-9 * theirs[1].abs().max().item())
