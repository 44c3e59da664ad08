"""What must be known of a trained model: `model.json` of a model folder, plain data without code, and its card."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from fairground.contracts.trunk_head_transform import Preprocessing
from fairground.spec import ComponentSpec, DataError, InputError, Precision, from_plain, parse_json, require

FORMAT = "fairground model"
VERSION = 1
#: the note of a model whose scores and thresholds could not be measured again
DATA_GONE = "the training data was not there when the model was exported: scores are those of the record, no intervals"

#: the note of a model that was measured by a distance which an index does not have
BY_ANOTHER_DISTANCE = (
    "scores are by the distance in a Poincaré ball; thresholds and an index compare by the Euclidean one"
)


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
    precision: Precision
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
            parts = {key: _part(key, data[key]) for key in ("trunk", "head", "transform")}
            found: ModelMetadata = from_plain(cls, {**data, **parts})
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


def _part(key: str, data: dict[str, Any]) -> ComponentSpec:
    name = data["name"]
    # Naming a class by dotted path imports its module, and importing runs it: not from a file one was handed.
    refusal = f"{key}={name} is a class outside fairground; model folders hold fairground's own parts only"
    require(isinstance(name, str) and ":" not in name, refusal, DataError)
    return ComponentSpec(name=name, settings={inner: value for inner, value in data.items() if inner != "name"})
