"""The model card: what a reader must know before trusting a model, in Markdown."""

import re

from fairground.deploy.metadata import MeasuredScore, ModelMetadata, OnnxInput

_SHOWN = 20


def card_of(metadata: ModelMetadata) -> str:
    """Return the README.md of a model folder."""
    kind = "pictures" if metadata.is_picture else f"features of width {metadata.channels}"
    collection = "my_pictures" if metadata.is_picture else "my_features.npz"
    query = "picture.jpg --page found.html" if metadata.is_picture else "new_features.npz"
    unit = "unit length, compared by cosine" if metadata.normalise else "any length, compared by Euclidean distance"
    return "\n".join(
        [
            f"# Embedding model {metadata.run}",
            "",
            f"Turns {kind} into embeddings of {metadata.embedding_dim} numbers ({unit}). Trained with fairground "
            f"{metadata.fairground} under protocol {_code(metadata.protocol)}.",
            "",
            "## How it was made",
            "",
            f"- trunk {_code(metadata.trunk.name)}, head {_code(metadata.head.name)}, transform "
            f"{_code(metadata.transform.name)}; all settings are in `model.json`",
            f"- data {_code(metadata.data)}, fingerprint {_code(metadata.data_fingerprint)}; split "
            f"{_code(metadata.split)}, fingerprint {_code(metadata.split_fingerprint)}",
            f"- trained on {len(metadata.classes)} classes: {_some(metadata.classes)}",
            *(f"- {_plain(note)}" for note in metadata.notes),
            "",
            "## Scores",
            "",
            *_scores(metadata.scores),
            "",
            "## Same class or not",
            "",
            *_thresholds(metadata),
            "",
            "## Limits",
            "",
            *_limits(metadata),
            "",
            "## How to use it",
            "",
            "```",
            f"fairground embed THIS_FOLDER {collection} -o embeddings.npz",
            f"fairground index THIS_FOLDER {collection} -o my_index",
            f"fairground query my_index {query}",
            "```",
            "",
            "```",
            "from fairground.deploy.model_folder import open_model",
            f'embeddings = open_model("THIS_FOLDER").embed("{collection}")',
            "```",
            *_features(metadata),
            "",
            *_onnx(metadata.onnx),
        ]
    )


def _features(metadata: ModelMetadata) -> list[str]:
    if metadata.is_picture:
        return []
    return [
        "",
        f"It takes no pictures but {metadata.features_wanted()}. Pass pictures through that encoder first.",
    ]


def _onnx(takes: OnnxInput | None) -> list[str]:
    if takes is None:
        return []
    shape = " x ".join(str(length) for length in ("n", *takes.shape))
    scaling = (
        f" Of a picture cut to that size these are its 8-bit pixels, channels in order {takes.order}, times "
        f"{list(takes.multiply)} plus {list(takes.add)}."
        if takes.multiply
        else ""
    )
    return [
        f"`model.onnx` takes `inputs` ({shape}, float32) and gives `embeddings`, for any n.{scaling} Held against "
        f"torch with onnxruntime it differed by {takes.largest_difference:.1e} at most.",
        "",
    ]


def _scores(scores: tuple[MeasuredScore, ...]) -> list[str]:
    if not scores:
        return ["None: the run was not measured."]
    rows = [f"| {score.split} | {score.metric} | {100 * score.value:.2f} % | {_interval(score)} |" for score in scores]
    return [
        "Classes of these splits were not trained on, unless the split is a closed set. Intervals are bootstraps over "
        "whole classes: how far the score might move with other classes of the same kind.",
        "",
        "| split | metric | score | interval |",
        "|---|---|---|---|",
        *rows,
    ]


def _interval(score: MeasuredScore) -> str:
    if score.low is None or score.high is None or score.confidence is None:
        return "not known"
    return f"{100 * score.low:.2f} to {100 * score.high:.2f} % ({100 * score.confidence:.0f} %)"


def _thresholds(metadata: ModelMetadata) -> list[str]:
    if not metadata.thresholds:
        return [f"No threshold is known: {metadata.why_no_threshold()}."]
    return [
        *(f"- {found.sentence()}" for found in metadata.thresholds),
        "",
        "The rates are of single pairs: is this the same class as that? Whether a picture is in a collection at all is "
        "decided by `fairground query`, at the size of the collection.",
    ]


def _limits(metadata: ModelMetadata) -> list[str]:
    own = "pictures like those it was trained on" if metadata.is_picture else "features of the same encoder"
    shape = f" Whole pictures are brought to {metadata.size[0]} x {metadata.size[1]} pixels." if metadata.size else ""
    return [
        f"- Scores and thresholds hold for {own}, of classes of the same kind; other data need their own measurement "
        "(`fairground score`).",
        "- One run with one seed: the intervals do not say how far another training would land.",
        f"- It tells how alike things look to it, never what they are.{shape}",
        "- Thresholds were found on the validation split, which also selected the epoch: expect slightly more errors.",
    ]


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(_code(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _code(text: str) -> str:
    """Names come from folders and files: in a code span nothing of them is markup."""
    plain = _plain_line(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", plain)), default=0))
    pad = " " if "`" in plain else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", _plain_line(text))


def _plain_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
