"""What must be known of a trained model: `model.json` of a model folder, plain data without code, and its card."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, cast, get_args, get_origin, get_type_hints

from fairground.contracts.model import Preprocessing
from fairground.errors import DataError, InputError, require
from fairground.files import parse_json
from fairground.spec.run_spec import ComponentSpec

FORMAT = "fairground model"
VERSION = 1
#: classes named on the card
_SHOWN = 20
#: the note of a model whose scores and thresholds could not be measured again
DATA_GONE = "the training data was not there when the model was exported: scores are those of the record, no intervals"


@dataclass(frozen=True, kw_only=True)
class MeasuredScore:
    """One score; `low` and `high` bound the middle `confidence` of a bootstrap over classes, if one was made."""

    metric: str
    split: str
    value: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Two images with at least this `similarity` count as one class; `fmr` and `fnmr` are its validation errors."""

    name: str
    similarity: float
    fmr: float
    fnmr: float
    n_genuine: int
    n_impostors: int

    def sentence(self) -> str:
        return (
            f"similarity {self.similarity:.4f} ({self.name}): of pairs of different classes {100 * self.fmr:.2f} % "
            f"pass, of pairs of one class {100 * self.fnmr:.2f} % are refused (validation, {self.n_impostors:,} and "
            f"{self.n_genuine:,} pairs)"
        )


@dataclass(frozen=True, kw_only=True)
class OnnxInput:
    """Input of the ONNX file: floats (n, *shape); of pictures, pixels times `multiply` plus `add` per channel."""

    shape: tuple[int, ...]
    multiply: tuple[float, ...] = ()
    add: tuple[float, ...] = ()
    order: str = "rgb"
    largest_difference: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ModelMetadata:
    """Everything about a model but its weights.

    `size` is the height and width of the images it was trained on, if all had one size. `classes` are the names of
    the classes it was trained on: it embeds any others too. `normalise` says that embeddings are compared at length 1.
    """

    run: str
    protocol: str
    fairground: str
    trunk: ComponentSpec
    head: ComponentSpec
    transform: ComponentSpec
    preprocessing: Preprocessing
    precision: str
    is_picture: bool
    channels: int
    size: tuple[int, int] | None
    embedding_dim: int
    normalise: bool
    classes: tuple[str, ...]
    data: str
    split: str
    data_fingerprint: str
    split_fingerprint: str
    weights_sha256: str
    scores: tuple[MeasuredScore, ...]
    thresholds: tuple[Threshold, ...]
    notes: tuple[str, ...]
    onnx: OnnxInput | None = None

    def to_json(self) -> str:
        parts = {key: getattr(self, key) for key in ("trunk", "head", "transform")}
        plain = {key: {"name": part.name, **part.settings} for key, part in parts.items()}
        content = {"format": FORMAT, "version": VERSION, **asdict(self), **plain}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, origin: str) -> "ModelMetadata":
        """Read `model.json`; refuse anything else in a sentence that names `origin`."""
        try:
            data = parse_json(text, origin, error=DataError)
            is_ours = data.pop("format", None) == FORMAT
            require(is_ours, f"{origin} is not the model.json of a fairground model", DataError)
            refusal = f"{origin} has version {data['version']} of the format; this one reads {VERSION}"
            require(data.pop("version") == VERSION, refusal, DataError)
            for key in ("channels", "embedding_dim"):
                is_count = type(data[key]) is int and data[key] >= 1
                require(is_count, f"{origin} is damaged: {key} must be a whole number from 1", DataError)
            parts = {key: _part(key, data[key]) for key in ("trunk", "head", "transform")}
            found: ModelMetadata = _typed(cls, {**data, **parts})
            return found
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise DataError(f"{origin} is damaged: {error}") from error

    def features_wanted(self) -> str:
        """Say which features a model of features takes, and in which file."""
        return (
            f"features of width {self.channels} from the encoder that made those it was trained on, as an array "
            f"`features` (n, {self.channels}) in an .npz file, or as an .npy file"
        )

    def why_no_threshold(self) -> str:
        if DATA_GONE in self.notes:
            return "the training data, whose validation classes it is found on, was not there when it was exported"
        return "the run has no validation split with two classes of two images to find one on"


def _part(key: str, data: Mapping[str, Any]) -> ComponentSpec:
    name = data["name"]
    # Naming a class by dotted path imports its module, and importing runs it: not from a file one was handed.
    refusal = f"{key}={name} is a class outside fairground; model folders hold fairground's own parts only"
    require(isinstance(name, str) and ":" not in name, refusal, DataError)
    return ComponentSpec(name=name, settings={inner: value for inner, value in data.items() if inner != "name"})


def _typed(hint: Any, value: Any) -> Any:
    """Return a value of JSON as its type hint has it: objects become dataclasses, and lists tuples."""
    options = get_args(hint)
    if get_origin(hint) is tuple:
        return tuple(_typed(options[0], item) for item in value)
    if options:
        return None if value is None else _typed(options[0], value)
    if not is_dataclass(hint) or isinstance(value, ComponentSpec):
        return value
    kind, hints = cast(Any, hint), get_type_hints(hint)
    return kind(**{key: _typed(hints[key], item) for key, item in value.items()})


def card_of(metadata: ModelMetadata) -> str:
    """Return the README.md of a model folder."""
    kind = "pictures" if metadata.is_picture else f"features of width {metadata.channels}"
    collection = "my_pictures" if metadata.is_picture else "my_features.npz"
    query = "picture.jpg --page found.html" if metadata.is_picture else "new_features.npz"
    unit = "unit length, compared by cosine" if metadata.normalise else "any length, compared by Euclidean distance"
    own = "pictures like those it was trained on" if metadata.is_picture else "features of the same encoder"
    shape = f" Whole pictures are resized to {metadata.size[0]} x {metadata.size[1]} pixels." if metadata.size else ""
    encoder = f"\nIt takes {metadata.features_wanted()}. Pass pictures through that encoder first.\n"
    names = ", ".join(_code(name) for name in metadata.classes[:_SHOWN])
    more = f" and {len(metadata.classes) - _SHOWN} more" if len(metadata.classes) > _SHOWN else ""
    notes = "".join(f"\n- {_plain(note)}" for note in metadata.notes)
    return f"""# Embedding model {metadata.run}

Turns {kind} into embeddings of {metadata.embedding_dim} numbers ({unit}). Trained with fairground \
{metadata.fairground} under protocol {_code(metadata.protocol)}.

## How it was made

- trunk {_code(metadata.trunk.name)}, head {_code(metadata.head.name)}, transform {_code(metadata.transform.name)}; \
all settings are in `model.json`
- data {_code(metadata.data)}, fingerprint {_code(metadata.data_fingerprint)}; split {_code(metadata.split)}, \
fingerprint {_code(metadata.split_fingerprint)}
- trained on {len(metadata.classes)} classes: {names}{more}{notes}

## Scores

{_scores(metadata.scores)}

## Same class or not

{_thresholds(metadata)}

## Limits

- Scores and thresholds hold for {own}, of classes of the same kind; other data need their own measurement \
(`fairground score`).
- One run with one seed: the intervals do not cover how far another training run would be.
- It measures how alike things look to it, never what they are.{shape}
- Thresholds were found on the validation split, which also selected the epoch: expect slightly more errors.

## How to use it

```
fairground embed THIS_FOLDER {collection} -o embeddings.npz
fairground index THIS_FOLDER {collection} -o my_index
fairground query my_index {query}
```

```
from fairground.deploy.model_folder import open_model
embeddings = open_model("THIS_FOLDER").embed("{collection}")
```
{"" if metadata.is_picture else encoder}
{_onnx(metadata.onnx)}"""


def _onnx(takes: OnnxInput | None) -> str:
    if takes is None:
        return ""
    scaling = f""" For a picture cut to that size these are its 8-bit pixels, channels in order {takes.order}, times \
{list(takes.multiply)} plus {list(takes.add)}."""
    shape = " x ".join(map(str, ("n", *takes.shape)))
    return f"""`model.onnx` takes `inputs` ({shape}, float32) and gives `embeddings`, \
for any n.{scaling if takes.multiply else ""} In onnxruntime it differed from torch by at most \
{takes.largest_difference:.1e}.
"""


def _scores(scores: tuple[MeasuredScore, ...]) -> str:
    if not scores:
        return "None: the run was not measured."
    text = """Classes of these splits were not trained on, unless the split is a closed set. Intervals are bootstraps \
over whole classes: how far the score might move with other classes of the same kind.

| split | metric | score | interval |
|---|---|---|---|"""
    for one in scores:
        interval = "not known"
        if one.low is not None and one.high is not None and one.confidence is not None:
            interval = f"{100 * one.low:.2f} to {100 * one.high:.2f} % ({100 * one.confidence:.0f} %)"
        text += f"\n| {one.split} | {one.metric} | {100 * one.value:.2f} % | {interval} |"
    return text


def _thresholds(metadata: ModelMetadata) -> str:
    if not metadata.thresholds:
        return f"No threshold is known: {metadata.why_no_threshold()}."
    listed = "".join(f"- {found.sentence()}\n" for found in metadata.thresholds)
    return f"""{listed}
The rates are of single pairs: is this the same class as that? Whether a picture is in a collection at \
all is decided by `fairground query`, at the size of the collection."""


def _code(text: str) -> str:
    """Names come from folders and files: in a code span nothing of them is markup."""
    plain = _one_line(text)
    ticks, pad = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0)), " " if "`" in plain else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
