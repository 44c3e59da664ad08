"""Readers of foreign files: for each, sound files, which of them are changed and how, and the reading.

`fuzz` reads thousands of changed ones by them, the tests (`tests/fuzz`) some hundreds.
"""

import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import safetensors.numpy
import torch
from PIL import Image
from tests.commands.test_study import STUDY
from tests.records.factory import make_record
from tests.training.tiny import TINY

from benchmarks.mutation import mutated_bytes, mutated_json
from fairground.datasets.features import FeaturesDataset
from fairground.datasets.table import TableDataset
from fairground.deploy.index import build_index, open_index
from fairground.deploy.inputs import read_inputs
from fairground.deploy.model_folder import open_model, read_model, write_model
from fairground.errors import FairgroundError
from fairground.evaluation.score import score_file
from fairground.files import parse_json, read_json
from fairground.loading.decoding import open_picture
from fairground.records.artefacts import RunFolder
from fairground.records.record import RunRecord
from fairground.records.sealed_json import sealed
from fairground.records.store import Store
from fairground.records.store_transfer import export_home, import_home
from fairground.reporting.audits import read_audit
from fairground.reporting.values_file import read_values
from fairground.spec.load import load_run, run_from_plain
from fairground.spec.study import study_to_plain
from fairground.spec.study_load import load_study
from fairground.studies.folder import folder_of, stored_study
from fairground.training.checkpoint import Checkpoints
from fairground.training.run import run
from fairground.trunks._weights import load_weights
from fairground.trunks.small_conv import SmallConvTrunk

Mutate = Callable[[bytes, random.Random], bytes]


@dataclass(frozen=True)
class Reader:
    """A reader of foreign files: the files that it reads, which of them are changed and how, and the reading."""

    files: Mapping[str, bytes]
    changed: Mapping[str, Mutate]
    read: Callable[[Path], object]
    #: makes checksums right again after a change, so that what lies behind them is reached too
    mend: Callable[[Path], None] = lambda _: None


def readers(place: Path) -> dict[str, Reader]:
    """Return all readers with sound files for each, made under `place`."""
    trained = _trained(place / "trained")
    plain = json.dumps(dict(trained.record.spec)).encode()
    read_checkpoint = partial(_read_checkpoint, run=trained.record.name)
    return {
        "run specs (TOML)": _text("run.toml", _run_toml(), lambda path: load_run(file=path)),
        "studies (TOML)": _text("mine.toml", STUDY.encode(), lambda path: load_study(str(path))),
        "stored specs (JSON)": _json("spec.json", plain, lambda path: run_from_plain(read_json(path))),
        "stored studies (JSON)": _json("study.json", _study_json(place), stored_study),
        "records (JSON)": _json("record.json", make_record(epochs=2).to_json().encode(), _read_record),
        "checkpoints": _folder(RunFolder(trained.home, trained.record.name).checkpoints, read_checkpoint),
        "checkpoints, resealed": _resealed(RunFolder(trained.home, trained.record.name).checkpoints, read_checkpoint),
        "features (.npz)": _features(place),
        "features (.npy)": _npy(),
        "tables (.csv)": _csv(place),
        "values (.csv)": _text("values.csv", b"method,seed,value\nA,0,0.31\nA,1,0.33\nB,0,0.25\n", read_values),
        "model folders": _folder(trained.model, _use_model, json_files=("model.json",), mend=_mend_model),
        "index folders": _folder(trained.index, _use_index, json_files=("index.json",)),
        "weights (.safetensors)": _weights(),
        "weights (.pth)": _pickled_weights(),
        "exported homes": _export(trained.home, place),
        "audits (JSON)": _json("audit.json", _audit_json(), read_audit),
        "pictures": _pictures(place),
    }


@dataclass(frozen=True)
class _Trained:
    home: Path
    record: RunRecord
    model: Path
    index: Path


def _trained(place: Path) -> _Trained:
    spec = load_run(
        overrides=[*(word for word in TINY if not word.startswith(("data", "training.ep"))), "training.epochs=2"]
    )
    record = run(spec, home=place / "home")
    Store(place / "home").append(record)
    model = open_model(record.name, home=place / "home")
    write_model(model, place / "model")
    photos = place / "photos"
    for number in range(6):
        (photos / f"class {number % 2}").mkdir(parents=True, exist_ok=True)
        Image.new("L", (32, 32), 40 * number).save(photos / f"class {number % 2}" / f"{number}.png")
    build_index(model, photos, place / "index")
    return _Trained(place / "home", record, place / "model", place / "index")


def _run_toml() -> bytes:
    words = [word for word in TINY if "." in word.partition("=")[0]]
    names = ['data.name = "synthetic"', 'trunk.name = "small_conv"', 'head.name = "linear"']
    return "\n".join(['protocol = "laptop"', "seed = 3", *names, *words]).encode()


def _study_json(place: Path) -> bytes:
    (place / "mine.toml").write_text(STUDY)
    study = load_study(str(place / "mine.toml"))
    assert folder_of(study, place).hash
    return json.dumps(study_to_plain(study)).encode()


def _text(name: str, data: bytes, read: Callable[[Path], object]) -> Reader:
    return Reader({name: data}, {name: mutated_bytes}, lambda place: read(place / name))


def _json(name: str, data: bytes, read: Callable[[Path], object]) -> Reader:
    return Reader({name: data}, {name: mutated_json}, lambda place: read(place / name))


def _folder(
    folder: Path,
    read: Callable[[Path], object],
    *,
    json_files: tuple[str, ...] = (),
    mend: Callable[[Path], None] = lambda _: None,
) -> Reader:
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    changed = {name: mutated_json if name in json_files else mutated_bytes for name in files}
    return Reader(files, changed, read, mend)


def _read_record(path: Path) -> None:
    record = RunRecord.from_json(path.read_bytes().decode("utf-8", "replace"))
    record.to_json()
    record.digits()


def _read_checkpoint(place: Path, *, run: str) -> None:
    checkpoints = Checkpoints(place, run)
    snapshot = checkpoints.load()
    if snapshot is not None and snapshot.facts["best"]:
        checkpoints.load_best(snapshot.facts["best"])


def _resealed(folder: Path, read: Callable[[Path], object]) -> Reader:
    """The newest checkpoint's JSON with a right digest over a wrong object: what a careful forger would write."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    newest = max(name for name in files if name.endswith(".json"))

    def change(data: bytes, draw: random.Random) -> bytes:
        try:
            return sealed(json.loads(mutated_json(json.dumps(json.loads(data)["body"]).encode(), draw)))
        except (ValueError, TypeError, RecursionError):
            return b"{}"

    return Reader(files, {newest: change}, read)


def _features(place: Path) -> Reader:
    rng = np.random.default_rng(0)
    arrays = {
        "embeddings": rng.normal(size=(12, 4)).astype(np.float32),
        "labels": np.repeat(np.arange(4), 3),
        "class_names": np.array(["a", "b", "c", "d"]),
        "groups": np.arange(12) % 2,
    }
    np.savez(place / "stored.npz", **arrays)
    np.savez_compressed(place / "packed.npz", **arrays)
    files = {name: (place / name).read_bytes() for name in ("stored.npz", "packed.npz")}

    def read(folder: Path) -> None:
        for name in files:
            for reader in (lambda path: FeaturesDataset(path=str(path)).load(), read_inputs, score_file):
                reader(folder / name)

    return Reader(files, dict.fromkeys(files, mutated_bytes), read)


def _npy() -> Reader:
    arrays = {"f.npy": np.random.default_rng(0).normal(size=(12, 4)), "l.npy": np.repeat(np.arange(4), 3)}
    files = {}
    for name, array in arrays.items():
        out = io.BytesIO()
        np.save(out, array)
        files[name] = out.getvalue()
    return Reader(
        files,
        dict.fromkeys(files, mutated_bytes),
        lambda place: FeaturesDataset(path=str(place / "f.npy"), labels=str(place / "l.npy")).load(),
    )


def _csv(place: Path) -> Reader:
    lines = ["path,label,split,x1,y1,x2,y2,query,gallery,group"]
    files: dict[str, bytes] = {}
    for number in range(6):
        Image.new("RGB", (16, 16), (40 * number, 0, 0)).save(place / "one.png")
        files[f"{number}.png"] = (place / "one.png").read_bytes()
        lines.append(f"{number}.png,class {number % 2},{'train' if number < 4 else 'test'},0,0,8,8,1,1,g{number % 3}")
    files["table.csv"] = "\n".join(lines).encode()

    def read(folder: Path) -> None:
        table = TableDataset(path=str(folder / "table.csv")).load()
        table.images.fingerprint()
        table.images.sizes(np.arange(len(table.images)))

    return Reader(files, {"table.csv": mutated_bytes}, read)


def _use_model(place: Path) -> None:
    model = read_model(place)
    model.embed(read_inputs(_picture(place.parent)))


def _picture(place: Path) -> Path:
    path = place / "query.png"
    if not path.exists():
        Image.new("L", (32, 32), 99).save(path)
    return path


def _mend_model(place: Path) -> None:
    """Write the checksum of the weights into model.json where there still is one."""
    try:
        facts = parse_json((place / "model.json").read_bytes(), "model.json")
    except FairgroundError:
        return
    if isinstance(facts.get("weights_sha256"), str):
        facts["weights_sha256"] = sha256((place / "weights.safetensors").read_bytes()).hexdigest()
        (place / "model.json").write_text(json.dumps(facts))


def _use_index(place: Path) -> None:
    index = open_index(place)
    query = index.model.embed(read_inputs(_picture(place.parent)))
    matches = index.search(query, 3)
    for row in matches.numbers[0]:
        index.label(int(row))
        index.name(int(row))
        index.thumbnail(int(row))


def _weights() -> Reader:
    trunk = SmallConvTrunk(channels=1, widths=[4, 4])
    data = safetensors.numpy.save({name: tensor.numpy() for name, tensor in trunk.state_dict().items()})
    return _text("w.safetensors", data, lambda path: load_weights(trunk, name="small_conv", weights=str(path)))


def _pickled_weights() -> Reader:
    trunk, out = SmallConvTrunk(channels=1, widths=[4, 4]), io.BytesIO()
    torch.save(trunk.state_dict(), out)

    def read(path: Path) -> None:
        digest = sha256(path.read_bytes()).hexdigest()
        load_weights(trunk, name="small_conv", weights=str(path), sha256=digest)

    return _text("w.pth", out.getvalue(), read)


def _export(home: Path, place: Path) -> Reader:
    export_home(home, place / "home.zip")
    data = (place / "home.zip").read_bytes()
    return _text("home.zip", data, lambda path: import_home(path, path.parent / "other"))


def _audit_json() -> bytes:
    parts = {"train": [4, 2], "test": [2, 1]}
    sizes = {"smallest": 1, "median": 2, "largest": 3}
    return json.dumps(
        {"n_images": 6, "n_classes": 3, "parts": parts, "class_sizes": sizes, "unreadable": 0, "notes": ["a"]}
    ).encode()


def _pictures(place: Path) -> Reader:
    files = {}
    for suffix in ("png", "jpg", "gif", "bmp", "webp", "tiff", "ppm"):
        Image.effect_noise((24, 16), 60).convert("RGB").save(place / f"p.{suffix}")
        files[f"p.{suffix}"] = (place / f"p.{suffix}").read_bytes()

    def read(folder: Path) -> None:
        for name in files:
            open_picture(folder / name)

    return Reader(files, dict.fromkeys(files, mutated_bytes), read)
