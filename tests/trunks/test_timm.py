import json
import os
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from fairground.errors import InputError
from fairground.trunks._pretrained_weights import fingerprint_of
from fairground.trunks.timm import TimmTrunk, _timm
from tests.patience import python


def test_the_width_is_that_of_what_comes_out_not_what_timm_says() -> None:
    trunk = TimmTrunk(channels=1, model="mobilenetv3_small_050")
    assert trunk.n_features == 1024
    assert trunk.eval()(torch.zeros(2, 1, 64, 64)).shape == (2, 1024)


def test_weights_come_from_a_file_with_timms_names_and_scaling_from_timms_facts(tmp_path) -> None:
    timm = _timm()

    reference = timm.create_model("test_vit.r160_in1k", pretrained=False).eval()
    save_file(reference.state_dict(), tmp_path / "theirs.safetensors")
    trunk = TimmTrunk(channels=3, model="test_vit.r160_in1k", weights=str(tmp_path / "theirs.safetensors")).eval()
    assert trunk.weights_fingerprint.startswith("sha256:")
    assert trunk.preprocessing.mean == tuple(reference.pretrained_cfg["mean"])
    images = torch.rand(1, 3, 160, 160, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = reference.forward_head(reference.forward_features(images), pre_logits=True)
        assert torch.allclose(trunk(images), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("resnet5O", r"timm\.model must be one of timm's \d+ names.*got 'resnet5O'\. Did you mean 'resnet50'\?"),
        ("local-dir:somewhere", "must be one of timm's"),
        ("resnet50.no_such_tag", "timm cannot make 'resnet50.no_such_tag'"),
    ],
)
def test_names_timm_does_not_know_or_would_fetch_are_refused(model: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        TimmTrunk(channels=3, model=model)


def test_without_timm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(InputError, match=r"trunk=timm needs the package timm.*pip install 'fairground\[timm\]'"):
        TimmTrunk(channels=3, model="resnet50")


@pytest.mark.parametrize("model", ["test_vit.r160_in1k", "test_convnext.r160_in1k", "test_resnet.r160_in1k"])
def test_stages_one_after_another_are_the_whole_network(model: str) -> None:
    timm = _timm()

    torch.manual_seed(0)
    trunk = TimmTrunk(channels=3, model=model).eval()
    torch.manual_seed(0)
    whole = timm.create_model(model, pretrained=False, num_classes=0).eval()
    images = torch.rand(2, 3, 160, 160)
    assert len(trunk.stages) == 4
    assert sum(map(torch.numel, trunk.parameters())) == sum(map(torch.numel, whole.parameters()))
    with torch.no_grad():
        assert torch.allclose(trunk(images), whole(images), atol=1e-6)


def test_a_network_that_cannot_be_cut_is_one_stage() -> None:
    assert len(TimmTrunk(channels=3, model="test_byobnet.r160_in1k").stages) == 1


CACHED = """
from fairground.trunks.timm import TimmTrunk
for model in ("hf-hub:someone/tiny", "test_vit.r160_in1k"):
    trunk = TimmTrunk(channels=3, model=model, weights="pretrained")
    print(trunk.weights_fingerprint, trunk.preprocessing.mean)
try:
    TimmTrunk(channels=3, model="test_vit2.r160_in1k", weights="pretrained")
except ValueError as error:
    print(error)
"""


def test_pretrained_weights_come_from_the_users_cache_and_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    timm = _timm()

    network = timm.create_model("test_vit.r160_in1k", pretrained=False)
    own = {"mean": [0.1] * 3, "std": [0.2] * 3, "classifier": "head", "input_size": [3, 160, 160]}
    facts = {"architecture": "test_vit", "num_classes": 1000, "pretrained_cfg": own}
    for name in ("someone--tiny", "timm--test_vit.r160_in1k"):
        folder = tmp_path / f"models--{name}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text("a" * 40)
        snapshot = folder / "snapshots" / ("a" * 40)
        snapshot.mkdir(parents=True)
        (snapshot / "config.json").write_text(json.dumps(facts))
        save_file(network.state_dict(), snapshot / "model.safetensors")
    environment = os.environ | {"HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = python("-c", CACHED, env=environment, check=True)
    hub, named, refusal = done.stdout.splitlines()
    network.reset_classifier(0)
    assert named.split()[0] == fingerprint_of(network)
    assert hub.startswith("sha256:")
    assert hub.endswith("(0.1, 0.1, 0.1)")
    assert refusal.startswith("timm.model: 'test_vit2.r160_in1k' is not in timm's cache, and its hub cannot be reached")


def test_a_network_that_takes_one_size_of_images_is_refused_with_the_remedy(tmp_path: Path) -> None:
    import fairground as fg

    parts = {"trunk": {"name": "timm", "model": "vit_tiny_patch16_224"}}
    parts |= {"transform": {"name": "plain", "side": 64, "shorter_side": 64}}
    with pytest.raises(InputError, match=r"takes images of 224 x 224 pixels.*makes 64 x 64: set transform.side=224"):
        fg.train("laptop", home=tmp_path, quiet=True, **parts)
