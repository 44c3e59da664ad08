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
from fairground.deploy.onnx_file import write_onnx
from fairground.deploy.shape_check import require_fitting
from fairground.errors import DataError, FairgroundError, InputError, require
from fairground.files import read_bytes, read_text
from fairground.records.artefacts import write_atomically
from fairground.spec.run import Part, TrainingSpec
from fairground.training.assemble import best_device, build_model, build_transform
from fairground.training.checkpoint import from_bytes, to_bytes

WEIGHTS = "weights.safetensors"
FACTS = "model.json"
CARD = "README.md"
ONNX = "model.onnx"


def open_model(source: str | Path, *, home: Path | None = None, measured: bool = True) -> UsableModel:
    """Return the model of a folder, or of a run in `home` by its name.

    `measured` also finds a run's thresholds and intervals on its validation split; a folder has them already.
    """
    path = Path(source).expanduser()
    if (path / FACTS).is_file():
        return read_model(path)
    require(not path.is_dir(), f"'{path}' is no model folder: it has no {FACTS}; `fairground export` makes one")
    require(home is not None, f"there is no model folder '{path}'; a run is found by its name and `home`")
    assert home is not None
    return model_of_run(home, str(source), measured=measured)


def write_model(model: UsableModel, folder: Path, *, onnx: bool = False) -> ModelMetadata:
    """Write a model folder and return the facts in it; what lies there already must be such a folder."""
    require_place(folder, FACTS, "model folder")
    data = to_bytes(model.network.state_dict())
    facts = replace(model.facts, weights_sha256=hashlib.sha256(data).hexdigest(), onnx=None)
    # The facts come last: they name the weights' checksum, and without them there is no model.
    (folder / FACTS).unlink(missing_ok=True)
    (folder / ONNX).unlink(missing_ok=True)
    if onnx:
        facts = replace(facts, onnx=write_onnx(model, folder / ONNX))
    write_atomically(folder / WEIGHTS, data)
    write_atomically(folder / CARD, card_of(facts).encode())
    write_atomically(folder / FACTS, facts.to_json().encode())
    return facts


def read_model(folder: Path) -> UsableModel:
    """Return the model in a folder, its weights checked against their checksum."""
    facts = ModelMetadata.from_json(read_text(folder / FACTS, error=DataError), str(folder / FACTS))
    data = read_bytes(folder / WEIGHTS, error=DataError)
    require(
        hashlib.sha256(data).hexdigest() == facts.weights_sha256,
        f"{folder / WEIGHTS} does not match its checksum in {FACTS}; copy the folder anew",
        DataError,
    )
    device = best_device()
    training = TrainingSpec(precision="mixed" if facts.precision == "mixed" else "full")
    try:
        weights, trunk = from_bytes(data), _untrained(facts.trunk)
        require_fitting(facts, trunk, training, weights)
        network = build_model(trunk, facts.head, training, channels=facts.channels)
        network.load_state_dict(weights)
        network.trunk.preprocessing = facts.preprocessing
        transform = build_transform(facts.transform, network)
    except FairgroundError as error:
        raise InputError(f"the model in {folder} cannot be made: {error}") from error
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError, MemoryError) as error:
        raise DataError(f"the weights in {folder} do not fit the parts it names: {str(error)[:300]}") from error
    return UsableModel(network=network.to(device).eval(), transform=transform, facts=facts, device=torch.device(device))


def require_place(folder: Path, mark: str, what: str) -> None:
    """Refuse to write into a folder that holds something else."""
    require(not folder.is_file(), f"'{folder}' is a file; name a folder")
    is_free = not folder.exists() or (folder / mark).is_file() or not any(folder.iterdir())
    require(is_free, f"'{folder}' is not empty and is no {what}; name a new folder")


def _untrained(part: Part) -> Part:
    """The trained weights are in the folder: whatever file training began from need not be there."""
    cleared = {"weights": None, "weights_sha256": ""}
    return Part(name=part.name, settings={key: cleared.get(key, value) for key, value in part.settings.items()})
