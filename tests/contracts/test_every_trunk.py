"""What every trunk owes: finite features of the width it says, a gradient to every weight, and stages that can mix."""

import copy
import io

import pytest
import torch

from fairground.contracts.trunk_head_transform import Mixing, Trunk, mix
from fairground.spec import declared, find, list_room

#: what a trunk cannot do without
SETTINGS: dict[str, dict[str, object]] = {
    "timm": {"model": "test_resnet"},
    "joined": {"networks": "efficientnet_lite0+googlenet", "weights": None},
    **{f"efficientnet_lite{number}": {"weights": None} for number in range(3)},
}


def build(name: str, *, channels: int = 3) -> Trunk:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        found: Trunk = find("trunks", name)(channels=channels, **SETTINGS.get(name, {}))
    return found


def inputs(name: str, *, side: int = 32, n: int = 3, channels: int = 3) -> torch.Tensor:
    size = (n, channels) if name == "features" else (n, channels, side, side)
    return torch.randn(size, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module", params=list_room("trunks"))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def trunk(name: str) -> Trunk:
    """Drawn once for all tests, which train and load copies."""
    return build(name).eval()


def test_features_are_finite_and_as_wide_as_declared_and_gray_images_are_taken(name: str, trunk: Trunk) -> None:
    assert len(trunk.stages) >= 1
    gray = build(name, channels=1).eval()
    for network, images in ((trunk, inputs(name)), (trunk, inputs(name, side=48)), (gray, inputs(name, channels=1))):
        with torch.no_grad():
            features = network(images)
        assert features.shape == (3, network.n_features)
        assert bool(features.isfinite().all())


def test_a_gradient_reaches_every_weight_and_inputs_stay_as_they_are(name: str, trunk: Trunk) -> None:
    trunk = copy.deepcopy(trunk).train()
    images = inputs(name)
    kept = images.clone()
    features = trunk(images)
    assert torch.equal(images, kept)
    if features.requires_grad:
        (features * torch.randn(features.shape, generator=torch.Generator().manual_seed(2))).sum().backward()
    for key, weight in trunk.named_parameters():
        assert weight.grad is not None, key
        assert bool(weight.grad.isfinite().all()), key


def test_state_survives_a_save(name: str, trunk: Trunk) -> None:
    first, second = copy.deepcopy(trunk).train(), copy.deepcopy(trunk)
    with torch.no_grad():
        first(inputs(name))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file, weights_only=True))
    with torch.no_grad():
        assert torch.equal(first.eval()(inputs(name)), second(inputs(name)))


def test_samples_are_mixed_before_the_stage_that_is_named(name: str, trunk: Trunk) -> None:
    images = inputs(name)
    partner = torch.tensor([1, 2, 0])
    with torch.no_grad():
        plain = trunk(images)
        for stage in range(len(trunk.stages)):
            assert torch.equal(trunk(images, Mixing(weight=1.0, partner=partner, stage=stage)), plain)
        half = Mixing(weight=0.5, partner=partner, stage=0)
        assert torch.allclose(trunk(images, half), trunk(mix(images, half)), atol=1e-6)
        if plain.shape[1] > 3:
            last = Mixing(weight=0.0, partner=partner, stage=len(trunk.stages) - 1)
            assert torch.allclose(trunk(images, last), plain[partner], atol=1e-4)


def test_channels_last_gives_the_same_features(name: str, trunk: Trunk) -> None:
    images = inputs(name)
    with torch.no_grad():
        plain = trunk(images)
        if images.ndim == 4:
            images = images.contiguous(memory_format=torch.channels_last)
            trunk = copy.deepcopy(trunk).to(memory_format=torch.channels_last)
        assert torch.allclose(trunk(images), plain, atol=1e-4)


def test_the_number_of_weights_is_as_declared(name: str, trunk: Trunk) -> None:
    n_weights = trunk.n_weights
    assert n_weights == declared("trunks", name, "n_weights", None)
    assert n_weights is None or n_weights == sum(weight.numel() for weight in trunk.parameters())
