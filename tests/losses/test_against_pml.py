"""Value and gradient of every loss that pytorch-metric-learning 2.9 defines in the same way, on random batches.

Where the definitions coincide only for some inputs, the table says for which and why. Not in the table, because the
peer has no such loss: quadruplet, proxy_nca_pp, centre, recall_at_k; and SNR in its triplet form, N-pair over all
positives, ProxyNCA with the positive outside the denominator.
"""

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from tests.losses.fixtures import build, gradient_of
from tests.losses.peers import PEERS, pair_up

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
CASES = [
    pytest.param(name, peer, id=f"{name}-{number}")
    for name, peers in PEERS.items()
    for number, peer in enumerate(peers)
    if "never" not in peer.needs
]


def _batch(needs, seed):
    generator = torch.Generator().manual_seed(seed)
    if "square" in needs:
        labels = torch.arange(5).repeat_interleave(5)
    elif "pairs" in needs:
        labels = torch.arange(8).repeat_interleave(4)[torch.randperm(32, generator=generator)]
    else:
        labels = torch.randint(8, (32,), generator=generator)
        labels[seed] = 8
    embeddings = torch.randn(len(labels), 16, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(embeddings) if "unit" in needs else embeddings, labels


@pytest.mark.parametrize(("name", "peer"), CASES)
def test_value_and_gradients_agree(name, peer):
    for seed in range(3):
        embeddings, labels = _batch(peer.needs, seed)
        torch.manual_seed(seed)
        ours, theirs = pair_up(peer, name, 9, 16, torch.float64)
        our_leaf, their_leaf = (embeddings.clone().requires_grad_() for _ in range(2))
        our_value, their_value = ours(our_leaf, labels), theirs(their_leaf, labels)
        our_value.backward()
        their_value.backward()
        assert our_value.item() == pytest.approx(their_value.item(), rel=peer.tolerance)
        expected = their_leaf.grad
        if "unit" in peer.needs:
            # The peer takes unit vectors as they come: what it says along them does not move a normalised embedding.
            expected = expected - (expected * embeddings).sum(1, keepdim=True) * embeddings
        scale = expected.abs().max().item()
        torch.testing.assert_close(our_leaf.grad, expected, rtol=0, atol=max(10 * peer.tolerance, 1e-9) * scale)
        if peer.weights is not None:
            our_vectors, their_vectors = (max(loss.parameters(), key=torch.Tensor.numel) for loss in (ours, theirs))
            found, expected = our_vectors.grad.flatten(0, -2), their_vectors.grad
            expected = expected if their_vectors.shape == found.shape and len(expected) != 16 else expected.T
            torch.testing.assert_close(found, expected, rtol=0, atol=1e-8 * expected.abs().max().item())
        if name == "margin":
            torch.testing.assert_close(ours.beta.grad, theirs.beta.grad)


#: not angular, whose peer takes all negatives of an anchor whatever the miner chose; not histogram, whose peer makes
#: triplets of the pairs
MINED = (
    *("n_pair", "nt_xent", "lifted_structure", "generalised_lifted_structure"),
    *("multi_similarity", "sup_con", "circle", "tuplet_margin"),
)


@pytest.mark.parametrize("name", MINED)
def test_losses_on_mined_tuples_agree(name):
    embeddings, labels = _batch(("pairs",), 0)
    generator = torch.Generator().manual_seed(1)
    same = labels.unsqueeze(1) == labels
    # Every anchor keeps one positive and one negative at least: where it has none the peer's empty sums are zeros.
    anchor = torch.cat([torch.arange(32), torch.randint(32, (40,), generator=generator)])
    near, far = same[anchor].double(), (~same[anchor]).double()
    near[torch.arange(len(anchor)), anchor] = 0
    positive, negative = (torch.multinomial(chances, 1, generator=generator).squeeze(1) for chances in (near, far))
    peer = PEERS[name][0]
    for tuples in (Triplets(anchor, positive, negative), Pairs(anchor[:36], positive[:36], anchor, negative)):
        ours = gradient_of(build(name, **peer.ours), embeddings, labels, tuples)
        leaf = embeddings.clone().requires_grad_()
        theirs = peer.theirs(9, 16).double()(leaf, labels, tuple(tuples))
        theirs.backward()
        assert ours[0] == pytest.approx(theirs.item(), rel=1e-9)
        torch.testing.assert_close(ours[1], leaf.grad, rtol=0, atol=1e-9 * leaf.grad.abs().max().item())
