"""Weights from files: found where they should be, refused when they are not what they should be."""

import hashlib
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from fairground.contracts.trunk_head_transform import PublishedWeights, Trunk
from fairground.errors import InputError
from fairground.trunks._pretrained_weights import load_weights
from fairground.trunks.resnet50 import Resnet50Trunk


class Small(Trunk):
    def __init__(self) -> None:
        super().__init__()
        parts = {"conv": nn.Conv2d(3, 2, 1), "norm": nn.BatchNorm2d(2)}
        self.stages = nn.ModuleList([nn.Sequential()])
        for name, part in parts.items():
            self.stages[0].add_module(name, part)
        self.n_features = 2


def theirs() -> dict[str, torch.Tensor]:
    return {
        "conv.weight": torch.full((2, 3, 1, 1), 4.0),
        "conv.bias": torch.tensor([1.0, 2.0]),
        "norm.weight": torch.tensor([3.0, 4.0]),
        "norm.bias": torch.tensor([5.0, 6.0]),
        "norm.running_mean": torch.tensor([7.0, 8.0]),
        "norm.running_var": torch.tensor([9.0, 10.0]),
        "fc.weight": torch.zeros(5, 2),
    }


def load(trunk: Trunk, path: Path | str, **options: object) -> str:
    trunk.published = options.pop("published", ())
    return load_weights(trunk, str(path), dropped=("fc.",), **options)


def published(path: Path, sha256: str = "") -> tuple[PublishedWeights]:
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "0" * 64
    return (PublishedWeights(file=path.name, sha256=sha256 or digest[:8], address="https://example.org/weights"),)


def test_safetensors_are_loaded_name_by_name_and_the_classifier_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    save_file(theirs(), path)
    trunk = Small()
    assert load(trunk, path) == "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
    state = trunk.state_dict()
    assert state["stages.0.conv.weight"].unique().tolist() == [4.0]
    assert state["stages.0.norm.running_var"].tolist() == [9.0, 10.0]


@pytest.mark.parametrize("is_legacy", [False, True])
def test_a_pickle_is_opened_once_when_its_hash_is_given(tmp_path: Path, monkeypatch, is_legacy: bool) -> None:
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path))
    path = tmp_path / "own.pth"
    # The way old files are: batch norm with a leading one, and no count of batches.
    state = {key: value[None] if key.startswith("norm") else value for key, value in theirs().items()}
    torch.save(state, path, _use_new_zipfile_serialization=not is_legacy)
    trunk = Small()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert load(trunk, path, sha256=digest) == f"sha256:{digest}"
    assert trunk.stages[0].norm.bias.tolist() == [5.0, 6.0]
    (kept,) = (tmp_path / "weights").glob(f"{digest}-*.safetensors")
    opened, again = [], torch.load
    monkeypatch.setattr(torch, "load", lambda *given, **how: opened.append(given) or again(*given, **how))
    for n_opened in (0, 1):
        trunk = Small()
        assert load(trunk, path, sha256=digest) == f"sha256:{digest}"
        assert trunk.stages[0].norm.bias.tolist() == [5.0, 6.0]
        assert len(opened) == n_opened
        kept.write_bytes(kept.read_bytes()[:-4] + bytes(4))


def test_a_pickle_without_a_hash_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "own.pth"
    torch.save(theirs(), path)
    with pytest.raises(InputError, match=r"own\.pth is a pickle, which could run code.*trunk\.weights_sha256"):
        load(Small(), path)


def test_a_pickle_that_would_run_code_is_refused_even_with_its_hash(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "ran"),)

    path = tmp_path / "evil.pth"
    torch.save({"conv.weight": Evil()}, path)
    with pytest.raises(InputError, match="cannot be read as weights"):
        load(Small(), path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert not (tmp_path / "ran").exists()


def test_a_file_named_like_the_published_one_must_be_it(tmp_path: Path) -> None:
    path = tmp_path / "small-12345678.pth"
    torch.save(theirs(), path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(InputError, match=rf"is not the file it should be: its SHA-256 is {found}, not 12345678\.\.\."):
        load(Small(), path, published=published(path, "12345678"))
    assert load(Small(), path, published=published(path)) == f"sha256:{found}"


def test_imagenet_is_looked_for_in_torchs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    path = folder / "small-weights.pth"
    torch.save(theirs(), path)
    assert load(Small(), "imagenet", published=published(path)).startswith("sha256:")


def test_a_missing_published_file_is_named_with_hash_and_address(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(InputError) as refusal:
        Resnet50Trunk(channels=3, weights="imagenet")
    for part in (
        "trunk.weights=imagenet of resnet50 needs resnet50-0676ba61.pth",
        "https://download.pytorch.org/models/resnet50-0676ba61.pth",
        "SHA-256 is 0676ba61b6795bbe1773cffd859882e5e297624d384b6993f7c9e683e722fb8a",
        str(tmp_path / "hub" / "checkpoints"),
    ):
        assert part in str(refusal.value)


def test_names_and_shapes_that_do_not_fit_are_told(tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    state = theirs()
    del state["conv.bias"]
    save_file(state | {"layer9.weight": torch.zeros(1)}, path)
    trunk = Small()
    before = trunk.stages[0].conv.weight.clone()
    with pytest.raises(InputError, match=r"own\.safetensors does not fit: it lacks conv\.bias; it has layer9\.weight"):
        load(trunk, path)
    save_file(theirs() | {"conv.weight": torch.zeros(2, 3, 3, 3)}, path)
    with pytest.raises(InputError, match=r"conv\.weight has shape \(2, 3, 3, 3\) where \(2, 3, 1, 1\) is needed"):
        load(trunk, path)
    assert torch.equal(trunk.stages[0].conv.weight, before)


def test_the_weights_of_a_run_of_ours_can_be_taken_up(tmp_path: Path) -> None:
    first = Small()
    state = {f"trunk.{key}": value for key, value in first.state_dict().items()}
    save_file(state | {"head.layer.weight": torch.zeros(2, 2)}, tmp_path / "best.safetensors")
    second = Small()
    load(second, tmp_path / "best.safetensors")
    assert torch.equal(second.stages[0].conv.weight, first.stages[0].conv.weight)
