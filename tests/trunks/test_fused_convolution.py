"""Frozen batch norm inside the convolution: the same values and gradients as the modules one after another."""

import copy
from unittest import mock

import pytest
import torch
from torch import nn

from fairground.heads.linear import LinearHead
from fairground.spec.catalogue import find
from fairground.training.embedding_model import EmbeddingModel
from fairground.trunks import FoldedConvTrunk, _fused_convolution
from fairground.trunks._fused_convolution import Chain, conv_norm, run


def one_after_another():
    return mock.patch.object(_fused_convolution, "is_frozen", return_value=False)


def unusual(module):
    """Give every norm statistics and weights that matter, negative ones too."""
    generator = torch.Generator().manual_seed(5)
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            for tensor in (norm.weight.data, norm.bias.data, norm.running_mean):
                tensor.add_(0.3 * torch.randn(tensor.shape, generator=generator))
            norm.running_var.mul_(0.5 + torch.rand(norm.running_var.shape, generator=generator))
    return module.eval()


def values_and_gradients(module, images):
    module = copy.deepcopy(module)
    images = images.clone().requires_grad_()
    out = module(images)
    slopes = torch.randn(out.shape, generator=torch.Generator().manual_seed(7), dtype=out.dtype)
    (out * slopes).sum().backward()
    return out.detach(), {"images": images.grad, **{name: w.grad for name, w in module.named_parameters()}}


@pytest.mark.parametrize(
    "name",
    ["efficientnet_lite0", "resnet50", "resnet50_original", "googlenet", "bn_inception", "small_conv", "folded_conv"],
)
def test_every_trunk_has_the_same_values_and_gradients(name):
    torch.manual_seed(0)
    settings = {} if name in ("small_conv", "folded_conv") else {"weights": None}
    trunk = unusual(find("trunks", name)(channels=3, **settings)).double()
    images = torch.randn(2, 3, 40, 40, dtype=torch.float64)
    found, gradients = values_and_gradients(trunk, images)
    with one_after_another():
        expected, slow = values_and_gradients(trunk, images)
    assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9 * expected.abs().max().item())
    assert gradients.keys() == slow.keys()
    for weight, gradient in gradients.items():
        assert (gradient - slow[weight]).abs().max() <= 1e-9 * slow[weight].abs().max(), weight


def test_a_value_by_hand():
    convolution, norm = nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1, eps=0).eval()
    with torch.no_grad():
        convolution.weight.fill_(3)
        convolution.bias.fill_(1)
        norm.weight.fill_(4)
        norm.bias.fill_(-2)
        norm.running_mean.fill_(5)
        norm.running_var.fill_(4)
    x = torch.tensor([[[[2.0, 1.0, 4.0]]]], requires_grad=True)
    # (3 * 2 + 1 - 5) / 2 * 4 - 2 = 2; (3 + 1 - 5) / 2 * 4 - 2 = -4; (12 + 1 - 5) / 2 * 4 - 2 = 14
    assert conv_norm(convolution, norm, x).flatten().tolist() == [2, -4, 14]
    assert conv_norm(convolution, norm, x, nn.ReLU()).flatten().tolist() == [2, 0, 14]
    out = conv_norm(convolution, norm, x, nn.ReLU6(), torch.tensor([[[[1.0, 5.0, 1.0]]]]))
    assert out.flatten().tolist() == [3, 1, 6]
    out.sum().backward()
    # The third is at the ceiling. The slope by x is w g / sigma = 6; by w, (x1 + x2) g / sigma = 6; by g, -1/2 + 1.
    assert x.grad.flatten().tolist() == [6, 6, 0]
    assert convolution.weight.grad.item() == 6
    assert convolution.bias.grad.item() == 4
    assert norm.weight.grad.item() == pytest.approx(0.5)
    assert norm.bias.grad.item() == 2


def test_a_norm_under_training_takes_the_statistics_of_the_batch():
    torch.manual_seed(0)
    chain = Chain(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).train()
    plain = nn.Sequential(*copy.deepcopy(list(chain)))
    images = torch.randn(5, 2, 8, 8)
    assert torch.equal(chain(images), plain(images))
    assert torch.equal(chain[1].running_mean, plain[1].running_mean)
    assert chain.state_dict().keys() == plain.state_dict().keys()


def test_nan_is_not_hidden_by_relu():
    chain = Chain(nn.Conv2d(2, 16, 1), nn.BatchNorm2d(16), nn.ReLU6()).eval()
    images = torch.zeros(1, 2, 4, 4)
    images[0, 0, 0, 0] = float("nan")
    assert chain(images)[0, :, 0, 0].isnan().all()


@pytest.mark.parametrize("size", [3, 5])
def test_second_derivatives_are_those_of_torch(size):
    torch.manual_seed(0)
    layers = (nn.Conv2d(16, 16, size, padding=size // 2, groups=16), unusual(nn.BatchNorm2d(16)), nn.ReLU6())
    images = torch.randn(2, 16, 9, 9)

    def curvature():
        x = images.clone().requires_grad_()
        (slope,) = torch.autograd.grad(run(layers, x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(slope.square().sum(), layers[0].weight)[0]

    found = curvature()
    with one_after_another():
        assert torch.allclose(found, curvature(), rtol=1e-3, atol=1e-4)


def test_mixed_precision_multiplies_in_bfloat16():
    torch.manual_seed(0)
    chain = unusual(Chain(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()))
    images = torch.randn(2, 3, 8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = chain(images)
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), chain(images), atol=0.1)


def step_by_step(trunk, images):
    """Fold by slices, and put ReLU before the maximum, as the papers do."""
    corners = [images[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1)]
    hidden = torch.stack(corners, dim=2).flatten(1, 2)
    for *_, convolution, norm, _, _ in trunk.stages:
        hidden = nn.functional.max_pool2d(torch.relu(norm(convolution(hidden))), 2)
    return hidden.mean((2, 3))


@pytest.mark.parametrize("channels", [1, 3])
def test_it_is_the_formula(channels):
    torch.manual_seed(0)
    trunk = FoldedConvTrunk(channels=channels, widths=(5, 7)).eval()
    images = torch.randn(4, channels, 16, 24)
    assert torch.allclose(trunk(images), step_by_step(trunk, images), atol=1e-5)


def test_a_value_by_hand_of_folded_conv():
    trunk = FoldedConvTrunk(channels=1, widths=(1,)).eval()
    with torch.no_grad():
        trunk.stages[0][1].weight.zero_()
        trunk.stages[0][1].weight[0, 3, 1, 1] = 2.0  # twice the pixel below and right of each square's first
    image = torch.zeros(1, 1, 4, 4)
    image[0, 0, 3, 1] = 5.0
    expected = 10 / (1 + trunk.stages[0][2].eps) ** 0.5
    assert trunk(image).item() == pytest.approx(expected)


@pytest.fixture(scope="module", params=["resnet50", "googlenet", "bn_inception", "efficientnet_lite0", "mobilenet_v2"])
def drawn(request):
    return find("trunks", request.param)(channels=3, weights=None)


@pytest.mark.parametrize("freeze", ["none", "stats", "stats_and_affine"])
def test_a_step_moves_what_is_not_frozen_and_nothing_else(drawn, freeze: str) -> None:
    trunk = copy.deepcopy(drawn)
    head = LinearHead(n_features=trunk.n_features, embedding_dim=4)
    model = EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm=freeze).train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    optimiser = torch.optim.SGD([weight for weight in model.parameters() if weight.requires_grad], lr=0.1)
    images = torch.rand(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    (model(images) * torch.tensor([1.0, -2.0, 3.0, 0.5])).sum().backward()
    optimiser.step()
    changed = {key for key, value in model.state_dict().items() if not torch.equal(value, before[key])}
    norms = {key.rpartition(".")[0] for key in before if key.endswith("running_mean")}
    assert norms
    statistics = {f"{norm}.{kind}" for norm in norms for kind in ("running_mean", "running_var")}
    affine = {f"{norm}.{kind}" for norm in norms for kind in ("weight", "bias")}
    assert bool(statistics & changed) == (freeze == "none")
    assert bool(affine & changed) == (freeze != "stats_and_affine")
    assert any(key.endswith("conv1.weight") or "conv" in key for key in changed)
