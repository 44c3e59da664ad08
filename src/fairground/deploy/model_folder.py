"""A model as a folder that can be handed on: weights in safetensors, metadata in JSON, a card to read. No code.

<folder>/
    weights.safetensors   the weights of trunk and head
    model.json            parts with their settings, preprocessing, scores, thresholds, fingerprints
    README.md             the model card
    model.onnx            the same network for other programs, if asked for
"""

import hashlib
from dataclasses import replace
from pathlib import Path

from fairground.deploy.from_run import model_of_run, untrained
from fairground.deploy.metadata import ModelMetadata
from fairground.deploy.model import UsableModel
from fairground.deploy.model_card import card_of
from fairground.deploy.onnx_export import write_onnx
from fairground.errors import DataError, FairgroundError, InputError, require
from fairground.files import read_bytes, read_text, write_atomically
from fairground.spec.run import TrainingSpec
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
    require(not path.is_dir(), f"'{path}' is not a model folder: it has no {METADATA}; `fairground export` makes one")
    require(home is not None, f"there is no model folder '{path}'; a run is found by its name and `home`")
    assert home is not None
    return model_of_run(home, str(source), measured=measured)


def write_model(model: UsableModel, folder: Path, *, onnx: bool = False) -> ModelMetadata:
    """Write a model folder and return its metadata; an existing folder must be empty or a model folder."""
    require_place(folder, METADATA, "a model folder")
    data = to_bytes(model.network.state_dict())
    metadata = replace(model.metadata, weights_sha256=hashlib.sha256(data).hexdigest(), onnx=None)
    # The metadata come last: they name the weights' checksum, and without them there is no model.
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
        f"{folder / WEIGHTS} does not match its checksum in {METADATA}; copy the folder again",
        DataError,
    )
    device = best_device()
    training = TrainingSpec(precision="mixed" if metadata.precision == "mixed" else "full")
    try:
        network = build_model(untrained(metadata.trunk), metadata.head, training, channels=metadata.channels)
        network.load_state_dict(from_bytes(data))
        width = network.head.embedding_dim
        complaint = f"{METADATA} names {metadata.embedding_dim:,} numbers per embedding, but its head makes {width:,}"
        require(metadata.embedding_dim == width, complaint, DataError)
        network.trunk.preprocessing = metadata.preprocessing
        transform = build_transform(metadata.transform, network)
    except FairgroundError as error:
        raise InputError(f"the model in {folder} cannot be made: {error}") from error
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError, MemoryError) as error:
        raise DataError(f"the weights in {folder} do not fit the parts it names: {str(error)[:300]}") from error
    return UsableModel(network=network.to(device).eval(), transform=transform, metadata=metadata, device=device)


def require_place(folder: Path, mark: str, what: str) -> None:
    """Refuse to write into a folder that holds something else."""
    require(folder.is_dir() or not folder.exists(), f"'{folder}' is a file; name a folder")
    is_free = not folder.exists() or (folder / mark).is_file() or not any(folder.iterdir())
    require(is_free, f"'{folder}' is not empty and is not {what}; name a new folder")
