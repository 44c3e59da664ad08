"""`trunk.pooling`: by hand, against a loop, in every trunk that has maps, and what it leaves as it was."""

import pytest
import torch

from fairground.errors import InputError
from fairground.spec import find, name_of, to_plain
from fairground.trunks import SmallConvTrunk, TimmTrunk
from tests.contracts.test_every_trunk import inputs
from tests.training.tiny import tiny

MAPS = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[-1.0, -1.0], [-1.0, 0.5]]]])


@pytest.mark.parametrize(
    ("pooling", "features"),
    [
        ("avg", [2.5, -0.625]),
        ("max", [4.0, 0.5]),
        ("avg+max", [6.5, -0.125]),
        # ((1 + 8 + 27 + 64) / 4)^(1/3); what is negative counts as 1e-6
        ("gem", [25 ** (1 / 3), (0.125 / 4) ** (1 / 3)]),
    ],
)
def test_four_pixels_by_hand(pooling, features):
    assert SmallConvTrunk(channels=1, pooling=pooling).pool(MAPS)[0].tolist() == pytest.approx(features, rel=1e-5)


@pytest.mark.parametrize(
    "name", ["resnet50", "googlenet", "bn_inception", "mobilenet_v2", "efficientnet_lite0", "timm"]
)
def test_networks_pool_the_maps_of_their_last_stage(name):
    settings = {"timm": {"model": "test_resnet"}}.get(name, {"weights": None})
    found, names = {}, set()
    for pooling in ("avg", "max", "avg+max", "gem"):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            trunk = find("trunks", name)(channels=3, pooling=pooling, **settings).train()
        features = trunk(inputs(name))
        features.sum().backward()
        assert all(bool(weight.grad.isfinite().all()) for weight in trunk.parameters())
        found[pooling] = features.detach()
        names.add(tuple(trunk.state_dict()))
    assert len(names) == 1, "pooling has no weights"
    assert torch.allclose(found["avg+max"], found["avg"] + found["max"], rtol=1e-3, atol=1e-4)
    assert bool((found["gem"] <= found["max"] + 1e-4).all())


def test_a_network_without_maps_keeps_its_own_pooling():
    with pytest.raises(InputError, match=r"timm\.pooling=gem needs maps \(n, c, h, w\); this network gives \(1"):
        TimmTrunk(channels=3, model="test_vit", pooling="gem")


def test_the_default_is_not_part_of_a_name_and_another_is():
    plain, gem = tiny(), tiny("trunk.pooling=gem")
    assert name_of(tiny("trunk.pooling=avg")) == name_of(plain) != name_of(gem)
    assert "pooling" not in to_plain(plain)["trunk"]
    assert to_plain(gem)["trunk"]["pooling"] == "gem"
    with pytest.raises(InputError, match=r"trunk.pooling must be one of 'avg', 'max', 'avg\+max', 'gem'; got 'mean'"):
        tiny("trunk.pooling=mean")
    with pytest.raises(InputError, match=r"small_conv.pooling must be 'avg', 'max', 'avg\+max' or 'gem'; got 'mean'"):
        SmallConvTrunk(channels=1, pooling="mean")
