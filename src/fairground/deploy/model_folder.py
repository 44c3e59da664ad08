"""A model as a folder that can be handed on: weights in safetensors, facts in JSON, a card to read. Nothing runs.

<folder>/
    weights.safetensors   the weights of trunk and head
    model.json            parts with their settings, preprocessing, scores, thresholds, fingerprints
    README.md             the model card
    model.onnx            the same network for other programs, if asked for
"""

import hashlib
from dataclasses import replace
from pathlib import Path

import torch

from fairground.deploy.from_run import model_of_run
from fairground.deploy.metadata import ModelMetadata
from fairground.deploy.model import UsableModel
from fairground.deploy.model_card import card_of
from fairground.deploy.onnx_export import write_onnx
from fairground.deploy.shape_check import require_fitting
from fairground.errors import DataError, FairgroundError, InputError, require
from fairground.files import read_bytes, read_text, write_atomically
from fairground.spec.run import ComponentSpec, TrainingSpec
from fairground.training.assemble import best_device, build_model, build_transform
from fairground.training.checkpoint import from_bytes, to_bytes

WEIGHTS = "weights.safetensors"
METADATA = "model.json"
CARD = "README.md"
ONNX = "model.onnx"


def open_model(source: str | Path, *, home: Path | None = None, measured: bool = True) -> UsableModel:
    """Return the model of a folder, or of a run in `home` by its name.

    `measured` also finds a run's thresholds and intervals on its validation split; a folder has them already.
    """
    path = Path(source).expanduser()
    if (path / METADATA).is_file():
        return read_model(path)
    require(not path.is_dir(), f"'{path}' is no model folder: it has no {METADATA}; `fairground export` makes one")
    require(home is not None, f"there is no model folder '{path}'; a run is found by its name and `home`")
    assert home is not None
    return model_of_run(home, str(source), measured=measured)


def write_model(model: UsableModel, folder: Path, *, onnx: bool = False) -> ModelMetadata:
    """Write a model folder and return the facts in it; what lies there already must be such a folder."""
    require_place(folder, METADATA, "a model folder")
    data = to_bytes(model.network.state_dict())
    metadata = replace(model.metadata, weights_sha256=hashlib.sha256(data).hexdigest(), onnx=None)
    # The facts come last: they name the weights' checksum, and without them there is no model.
    (folder / METADATA).unlink(missing_ok=True)
    (folder / ONNX).unlink(missing_ok=True)
    if onnx:
        metadata = replace(metadata, onnx=write_onnx(model, folder / ONNX))
    write_atomically(folder / WEIGHTS, data)
    write_atomically(folder / CARD, card_of(metadata).encode())
    write_atomically(folder / METADATA, metadata.to_json().encode())
    return metadata


def read_model(folder: Path) -> UsableModel:
    """Return the model in a folder, its weights checked against their checksum."""
    text = read_text(folder / METADATA, error=DataError)
    metadata = ModelMetadata.from_json(text, str(folder / METADATA))
    data = read_bytes(folder / WEIGHTS, error=DataError)
    require(
        hashlib.sha256(data).hexdigest() == metadata.weights_sha256,
        f"{folder / WEIGHTS} does not match its checksum in {METADATA}; copy the folder anew",
        DataError,
    )
    device = best_device()
    training = TrainingSpec(precision="mixed" if metadata.precision == "mixed" else "full")
    try:
        weights, trunk = from_bytes(data), _untrained(metadata.trunk)
        require_fitting(metadata, trunk, training, weights)
        network = build_model(trunk, metadata.head, training, channels=metadata.channels)
        network.load_state_dict(weights)
        network.trunk.preprocessing = metadata.preprocessing
        transform = build_transform(metadata.transform, network)
    except FairgroundError as error:
        raise InputError(f"the model in {folder} cannot be made: {error}") from error
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError, MemoryError) as error:
        raise DataError(f"the weights in {folder} do not fit the parts it names: {str(error)[:300]}") from error
    return UsableModel(
        network=network.to(device).eval(), transform=transform, metadata=metadata, device=torch.device(device)
    )


def require_place(folder: Path, mark: str, what: str) -> None:
    """Refuse to write into a folder that holds something else."""
    require(folder.is_dir() or not folder.exists(), f"'{folder}' is a file; name a folder")
    is_free = not folder.exists() or (folder / mark).is_file() or not any(folder.iterdir())
    require(is_free, f"'{folder}' is not empty and is not {what}; name a new folder")


def _untrained(part: ComponentSpec) -> ComponentSpec:
    """The trained weights are in the folder: whatever file training began from need not be there."""
    cleared = {"weights": None, "weights_sha256": ""}
    return ComponentSpec(
        name=part.name, settings={key: cleared.get(key, value) for key, value in part.settings.items()}
    )
