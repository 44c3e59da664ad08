import sys

import pytest
import torch
from safetensors.torch import save_file

from fairground.errors import InputError
from fairground.trunks.timm import TimmTrunk


def test_the_width_is_that_of_what_comes_out_not_what_timm_says() -> None:
    trunk = TimmTrunk(channels=1, model="mobilenetv3_small_050")
    assert trunk.n_features == 1024
    assert trunk.eval()(torch.zeros(2, 1, 64, 64)).shape == (2, 1024)


def test_weights_come_from_a_file_with_timms_names_and_scaling_from_timms_facts(tmp_path) -> None:
    import timm

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
        ("resnet5O", r"timm\.model must be one of timm's \d+ names; got 'resnet5O'\. Did you mean 'resnet50'\?"),
        ("hf-hub:timm/resnet50.a1_in1k", "must be one of timm's"),
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
