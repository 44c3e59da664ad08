import weakref

import pytest
import torch
from torch import nn

from fairground.contracts.loss import Triplets
from fairground.errors import InputError
from fairground.losses import ProxyAnchorLoss, TripletLoss
from fairground.training.gradient_cache import cached_backward

N, CHUNK = 20, 6


def _net(*layers):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), *layers, nn.Linear(7, 4)).double()


def _images():
    return torch.randn(N, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def _labels():
    return torch.arange(N) // 4


def _gradients(module):
    return {name: weights.grad.clone() for name, weights in module.named_parameters()}


def _hardest(embeddings, labels):
    """The hardest triplet of every anchor, all of which change when any embedding does."""
    with torch.no_grad():
        far = torch.cdist(embeddings, embeddings)
        same = labels.unsqueeze(1) == labels
        positive, negative = far.masked_fill(~same, -1).argmax(1), far.masked_fill(same, 9e9).argmin(1)
        return Triplets(torch.arange(len(labels)), positive, negative)


def _close(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert torch.allclose(one[name], two[name], rtol=0, atol=1e-12), name


@pytest.mark.parametrize("chunk", [1, CHUNK, N, 1000])
def test_the_gradient_is_that_of_the_large_batch_with_a_miner(chunk):
    net, loss = _net(nn.ReLU()), TripletLoss(margin=0.5)

    def loss_of(embeddings):
        return loss(embeddings, _labels(), _hardest(embeddings, _labels())) + 0.1 * embeddings.norm(dim=1).mean()

    expected = net(_images())
    value = loss_of(expected)
    value.backward()
    wanted = _gradients(net)
    net.zero_grad()
    got, embeddings = cached_backward(net, _images().split(chunk), loss_of)
    assert got.item() == pytest.approx(value.item(), abs=1e-12)
    assert torch.allclose(embeddings, expected, rtol=0, atol=1e-14)
    assert not got.requires_grad
    assert not embeddings.requires_grad
    _close(_gradients(net), wanted)


def test_the_parameters_of_the_loss_get_their_gradient_too():
    net = _net(nn.Tanh())
    loss = ProxyAnchorLoss(n_classes=5, embedding_dim=4).double()
    loss(net(_images()), _labels()).backward()
    wanted = _gradients(net), _gradients(loss)
    net.zero_grad()
    loss.zero_grad()
    cached_backward(net, _images().split(CHUNK), lambda embeddings: loss(embeddings, _labels()))
    _close(_gradients(net), wanted[0])
    _close(_gradients(loss), wanted[1])


class _Counter(nn.Module):
    """Scales by how often it has been called before, as any layer with running statistics might."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.float64))

    def forward(self, hidden):
        self.calls += 1
        return hidden * self.calls.item()


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), _Counter(), nn.BatchNorm1d(7).eval()])
def test_both_passes_see_the_same_noise_and_buffers_which_then_go_on(layer):
    net = _net(layer)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    torch.manual_seed(3)
    expected = torch.cat([net(piece) for piece in _images().split(CHUNK)])
    expected.square().sum().backward()
    wanted, after = _gradients(net), torch.rand(1)
    buffers = {name: value.clone() for name, value in net.named_buffers()}
    net.zero_grad()
    net.load_state_dict(before)
    torch.manual_seed(3)
    _, embeddings = cached_backward(net, _images().split(CHUNK), lambda found: found.square().sum())
    assert torch.equal(embeddings, expected)
    _close(_gradients(net), wanted)
    assert torch.equal(torch.rand(1), after)
    _close(dict(net.named_buffers()), buffers)


class _Live:
    """Counts the bytes that graphs keep for their backward pass."""

    def __init__(self):
        self.now = self.peak = 0

    def pack(self, tensor):
        size = tensor.numel() * tensor.element_size()
        self.now += size
        self.peak = max(self.peak, self.now)
        # A copy, so that the count ends with the graph and not with the tensor.
        kept = tensor.detach().clone()
        weakref.finalize(kept, self._release, size)
        return kept

    def _release(self, size):
        self.now -= size


def _peak(call):
    live = _Live()
    with torch.autograd.graph.saved_tensors_hooks(live.pack, lambda kept: kept):
        call()
    return live.peak


def test_memory_is_that_of_one_chunk():
    layers = (nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU())
    wide = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(8))
    images = torch.randn(64, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    wide(images[:1])

    def loss_of(embeddings):
        return TripletLoss()(embeddings, torch.arange(64) // 4)

    plain = _peak(lambda: loss_of(wide(images)).backward())
    cached = _peak(lambda: cached_backward(wide, images.split(4), loss_of))
    assert cached < plain / 8


@pytest.mark.parametrize("norm", [nn.BatchNorm1d(7), nn.BatchNorm1d(7, track_running_stats=False).eval()])
def test_refuses_batch_norm_that_looks_at_the_batch(norm):
    with pytest.raises(InputError, match="needs batch norm frozen, for '1' would take its statistics from each chunk"):
        cached_backward(_net(norm), _images().split(CHUNK), torch.Tensor.sum)
