"""The model card: the README.md of a model folder, written from its metadata."""

from fairground.deploy.metadata import MeasuredScore, ModelMetadata, OnnxInput

#: classes named on the card
_SHOWN = 20


def card_of(metadata: ModelMetadata) -> str:
    kind = "pictures" if metadata.is_picture else f"features of width {metadata.channels}"
    collection = "my_pictures" if metadata.is_picture else "my_features.npz"
    query = "picture.jpg --page found.html" if metadata.is_picture else "new_features.npz"
    unit = "unit length, compared by cosine" if metadata.normalise else "any length, compared by Euclidean distance"
    own = "pictures like those it was trained on" if metadata.is_picture else "features of the same encoder"
    shape = f" Whole pictures are resized to {metadata.size[0]} x {metadata.size[1]} pixels." if metadata.size else ""
    encoder = f"\nIt takes {metadata.features_wanted()}. Pass pictures through that encoder first.\n"
    names = ", ".join(f"`{name}`" for name in metadata.classes[:_SHOWN])
    more = f" and {len(metadata.classes) - _SHOWN} more" if len(metadata.classes) > _SHOWN else ""
    notes = "".join(f"\n- {note}" for note in metadata.notes)
    return f"""# Embedding model {metadata.run}

Turns {kind} into embeddings of {metadata.embedding_dim} numbers ({unit}). Trained with fairground \
{metadata.fairground} under protocol `{metadata.protocol}`.

## How it was made

- trunk `{metadata.trunk.name}`, head `{metadata.head.name}`, transform `{metadata.transform.name}`; \
all settings are in `model.json`
- data `{metadata.data}`, fingerprint `{metadata.data_fingerprint}`; split `{metadata.split}`, \
fingerprint `{metadata.split_fingerprint}`
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
