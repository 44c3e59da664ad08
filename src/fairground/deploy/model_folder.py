"""A model as a folder that can be handed on: weights in safetensors, metadata in JSON, a card to read. No code.

<folder>/
    weights.safetensors   the weights of trunk and head
    model.json            parts with their settings, preprocessing, scores, thresholds, fingerprints
    README.md             the model card
    model.onnx            the same network for other programs, if asked for
"""

import hashlib
from dataclasses import replace
from glob import escape
from pathlib import Path

import numpy as np

from fairground import __version__
from fairground.deploy import MOST_ROWS, ONNX, UsableModel, card_of, thresholds_of, write_onnx
from fairground.deploy.metadata import BY_ANOTHER_DISTANCE, DATA_GONE, MeasuredScore, ModelMetadata, Threshold
from fairground.evaluation import Bootstrap, BootstrapInterval, evaluate_in_detail
from fairground.evaluation.embed import embed
from fairground.files import read_bytes, read_text, write_atomically
from fairground.records import RunFolder, Store, array_names, read_arrays, resolve_run, stored_spec
from fairground.spec import ComponentSpec, DataError, FairgroundError, InputError, RunSpec, TrainingSpec, require
from fairground.training import Assembled, InputProfile, build, build_model, device_named, from_bytes, to_bytes, view_of
from fairground.training.evaluate_stored_runs import missing_place, read_profile, reopen, selected_weights

WEIGHTS = "weights.safetensors"
METADATA = "model.json"
CARD = "README.md"


def open_model(
    source: str | Path, *, home: Path | None = None, measured: bool = True, device: str = "auto"
) -> UsableModel:
    """Return the model of a folder, or of a run or a recommendation in `home` by its name.

    `measured` also finds a run's thresholds and intervals on its validation split; a folder has them already.
    """
    path = Path(source).expanduser()
    if (path / METADATA).is_file():
        return read_model(path, device=device)
    require(not path.is_dir(), f"'{path}' is not a model folder: it has no {METADATA}; `fairground export` makes one")
    require(home is not None, f"there is no model folder '{path}'; a run is found by its name and `home`")
    assert home is not None
    recommended = list(home.glob(f"recommendations/{escape(str(source))}*/model/{METADATA}"))
    if len(recommended) == 1:
        return read_model(recommended[0].parent, device=device)
    return model_of_run(home, str(source), measured=measured, device=device)


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


def read_model(folder: Path, *, device: str = "auto") -> UsableModel:
    """Return the model in a folder, its weights checked against their checksum."""
    text = read_text(folder / METADATA, error=DataError)
    metadata = ModelMetadata.from_json(text, str(folder / METADATA))
    data = read_bytes(folder / WEIGHTS, error=DataError)
    refusal = f"{folder / WEIGHTS} does not match its checksum in {METADATA}; copy the folder again"
    require(hashlib.sha256(data).hexdigest() == metadata.weights_sha256, refusal, DataError)
    training = TrainingSpec(precision=metadata.precision)
    try:
        network = build_model(untrained(metadata.trunk), metadata.head, training, channels=metadata.channels)
        network.load_state_dict(from_bytes(data))
        width = network.head.embedding_dim
        complaint = f"{METADATA} names {metadata.embedding_dim:,} numbers per embedding, but its head makes {width:,}"
        require(metadata.embedding_dim == width, complaint, DataError)
        network.trunk.preprocessing = metadata.preprocessing
        transform = build("transform", metadata.transform, {"preprocessing": metadata.preprocessing})
    except FairgroundError as error:
        raise InputError(f"the model in {folder} cannot be made: {error}") from error
    except (TypeError, ValueError, RuntimeError, AttributeError, OverflowError, MemoryError) as error:
        raise DataError(f"the weights in {folder} do not fit the parts it names: {str(error)[:300]}") from error
    place = device_named(device)
    return UsableModel(network=network.to(place).eval(), transform=transform, metadata=metadata, device=place)


def require_place(folder: Path, mark: str, what: str) -> None:
    """Refuse to write into a folder that holds something else."""
    require(folder.is_dir() or not folder.exists(), f"'{folder}' is a file; name a folder")
    is_free = not folder.exists() or (folder / mark).is_file() or not any(folder.iterdir())
    require(is_free, f"'{folder}' is not empty and is not {what}; name a new folder")


def model_of_run(home: Path, name: str, *, measured: bool = True, device: str = "auto") -> UsableModel:
    """Return a run's selected model; `measured` also finds thresholds and intervals on its validation split.

    If the training data is gone, the model is as usable, with the scores of its record and nothing measured again.
    """
    folder = RunFolder(home, resolve_run(home, name))
    spec = stored_spec(folder)
    for key, part in (("trunk", spec.trunk), ("head", spec.head), ("transform", spec.transform)):
        refusal = f"run {folder.name} has {key}={part.name}, which is outside fairground; use it in Python"
        require(":" not in part.name, refusal)
    store = Store(home)
    record = store.get(folder.name) if folder.name in store.names() else None
    recorded = () if record is None else record.scores
    notes = () if record is None else record.notes
    scores: tuple[MeasuredScore, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    if place := missing_place(spec.data):
        profile, on = read_profile(folder, place), device_named(device)
        model = build_model(untrained(spec.trunk), spec.head, spec.training, channels=profile.channels).to(on)
        model.load_state_dict(selected_weights(folder))
        model.trunk.preprocessing = profile.preprocessing
        transform = build("transform", spec.transform, {"preprocessing": profile.preprocessing})
        scores = tuple(MeasuredScore(metric=one.metric, split=one.split, value=one.value) for one in recorded)
        notes = (*notes, DATA_GONE)
    else:
        run = reopen(home, folder.name, device=device)
        profile, model, transform, on = run.profile(), run.model, run.transform, run.device
        if measured:
            scores, thresholds = _validation(run)
            # The test split is not opened: intervals come from what each query scored.
            scores += tuple(
                _measured(one.metric, "test", one.value, _interval(folder.queries, run, one.metric))
                for one in recorded
                if one.split == "test"
            )
    if spec.evaluation.distance != "euclidean" and not profile.is_normalised:
        notes = (*notes, BY_ANOTHER_DISTANCE)
    metadata = metadata_of(folder.name, spec, profile, scores=scores, thresholds=thresholds, notes=notes)
    return UsableModel(network=model.eval(), transform=transform, metadata=metadata, device=on)


def metadata_of(name: str, spec: RunSpec, profile: InputProfile, **others: object) -> ModelMetadata:
    """Return the metadata of a network before it is written; `others` are its scores, thresholds and notes."""
    inputs = {key: value for key, value in vars(profile).items() if key != "is_normalised"}
    parts = {key: getattr(spec, key) for key in ("protocol", "trunk", "head", "transform")}
    own = {"precision": spec.training.precision, "data": spec.data.name, "split": spec.split.name, **parts, **others}
    return ModelMetadata(
        run=name, fairground=__version__, normalise=profile.is_normalised, weights_sha256="", **inputs, **own
    )


def untrained(trunk: ComponentSpec) -> ComponentSpec:
    """Return a trunk without the file it began training from: the trained weights are in the folder."""
    cleared = {"weights": None, "weights_sha256": ""}
    settings = {key: cleared.get(key, value) for key, value in trunk.settings.items()}
    return ComponentSpec(name=trunk.name, settings=settings)


def _validation(parts: Assembled) -> tuple[tuple[MeasuredScore, ...], tuple[Threshold, ...]]:
    """Return the validation scores with intervals over classes, and the thresholds."""
    rows, evaluation = parts.split.validation, parts.spec.evaluation
    if len(rows) == 0:
        return (), ()
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device).cpu()
    # A bootstrap over one class says nothing about other classes.
    bootstrap = Bootstrap() if len(np.unique(parts.table.labels[rows])) > 1 else None
    view = view_of(parts, embeddings, rows)
    lone, rerank = evaluation.lone, evaluation.rerank
    detail = evaluate_in_detail(view, evaluation.metrics, lone=lone, rerank=rerank, bootstrap=bootstrap)
    scores = [
        _measured(metric, "validation", value, detail.intervals.get(metric)) for metric, value in detail.scores.items()
    ]
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.int64))
    # Whoever uses the model compares by cosine or Euclidean distance.
    return tuple(scores), thresholds_of(view_of(parts, embeddings[some], rows[some], distance="euclidean"))


def _measured(metric: str, split: str, value: float, interval: BootstrapInterval | None) -> MeasuredScore:
    bounds = {} if interval is None else {key: getattr(interval, key) for key in ("low", "high", "confidence")}
    return MeasuredScore(metric=metric, split=split, value=value, **bounds)


def _interval(path: Path, run: Assembled, metric: str) -> BootstrapInterval | None:
    is_stored = path.is_file() and run.spec.evaluation.report == "selected"
    if not is_stored or f"per_query/{metric}" not in array_names(path):
        return None
    arrays = read_arrays(path, [f"per_query/{metric}", "is_counted"])
    values, is_counted = arrays[f"per_query/{metric}"], arrays["is_counted"]
    table, rows = run.table, run.split.test
    if table.is_query is not None and table.is_query[rows].any():
        rows = rows[table.is_query[rows]]
    labels = table.labels[rows]
    if len(labels) != len(values) or len(np.unique(labels[is_counted])) == 1:
        return None
    return Bootstrap().of_mean(values[is_counted], labels[is_counted])
