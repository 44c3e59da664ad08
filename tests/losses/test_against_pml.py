"""Value and gradient of every loss that pytorch-metric-learning 2.9 defines in the same way, on random batches.

Where the definitions coincide only for some inputs, the table says for which and why. Not in the table, because the
peer has no such loss: quadruplet, proxy_nca_pp, centre, recall_at_k; and SNR in its triplet form, N-pair over all
positives, ProxyNCA with the positive outside the denominator.
"""

import pytest
import torch

from fairground.spec.catalogue import list_room
from tests.losses.peers import PEERS, Peer, pair_up

CASES = [
    pytest.param(name, peer, id=f"{name}-{number}")
    for name, peers in PEERS.items()
    if name in list_room("losses")
    for number, peer in enumerate(peers)
    if "never" not in peer.needs
]


def _batch(peer: Peer, seed: int) -> tuple[torch.Tensor, torch.Tensor, int]:
    generator = torch.Generator().manual_seed(seed)
    if "square" in peer.needs:
        labels = torch.arange(5).repeat_interleave(5)
    elif "pairs" in peer.needs:
        labels = torch.arange(8).repeat_interleave(4)[torch.randperm(32, generator=generator)]
    else:
        labels = torch.randint(8, (32,), generator=generator)
        labels[seed] = 8
    embeddings = torch.randn(len(labels), 16, generator=generator, dtype=torch.float64)
    if "unit" in peer.needs:
        embeddings = torch.nn.functional.normalize(embeddings)
    return embeddings, labels, 9


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "peer"), CASES)
def test_value_and_gradient_agree(name, peer, seed):
    embeddings, labels, n_classes = _batch(peer, seed)
    torch.manual_seed(seed)
    ours, theirs = pair_up(peer, name, n_classes, embeddings.shape[1], torch.float64)
    ours_in, theirs_in = embeddings.clone().requires_grad_(), embeddings.clone().requires_grad_()
    our_value, their_value = ours(ours_in, labels), theirs(theirs_in, labels)
    our_value.backward()
    their_value.backward()
    assert our_value.item() == pytest.approx(their_value.item(), rel=peer.tolerance)
    our_gradient, their_gradient = ours_in.grad, theirs_in.grad
    if "unit" in peer.needs:
        # The peer takes unit vectors as they come: what it says along them does not move a normalised embedding.
        along = (their_gradient * embeddings).sum(1, keepdim=True)
        their_gradient = their_gradient - along * embeddings
    scale = their_gradient.abs().max().item()
    torch.testing.assert_close(our_gradient, their_gradient, rtol=0, atol=max(10 * peer.tolerance, 1e-9) * scale)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(("name", "peer"), [case for case in CASES if case.values[1].weights is not None])
def test_gradients_of_class_vectors_agree(name, peer):
    embeddings, labels, n_classes = _batch(peer, 0)
    torch.manual_seed(0)
    ours, theirs = pair_up(peer, name, n_classes, embeddings.shape[1], torch.float64)
    ours(embeddings, labels).backward()
    theirs(embeddings, labels).backward()
    our_gradient = max(ours.parameters(), key=torch.Tensor.numel).grad.flatten(0, -2)
    their_gradient = max(theirs.parameters(), key=torch.Tensor.numel).grad
    if their_gradient.shape != our_gradient.shape or their_gradient.shape[0] == embeddings.shape[1]:
        their_gradient = their_gradient.T
    torch.testing.assert_close(our_gradient, their_gradient, rtol=0, atol=1e-8 * their_gradient.abs().max().item())


def test_the_border_of_the_margin_loss_moves_alike():
    peer = PEERS["margin"][2]
    embeddings, labels, n_classes = _batch(peer, 0)
    ours, theirs = pair_up(peer, "margin", n_classes, embeddings.shape[1], torch.float64)
    ours(embeddings, labels).backward()
    theirs(embeddings, labels).backward()
    torch.testing.assert_close(ours.beta.grad, theirs.beta.grad)
