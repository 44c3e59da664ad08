"""Which pictures of a collection cannot be read, and the collection without them."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from fairground.deploy.inputs import EmbeddingInputs
from fairground.errors import DataError, require
from fairground.loading.decoding import for_each
from fairground.loading.image_dataset import ImageFiles

#: pictures decoded in one go
_BLOCK = 256
#: how many are named in a sentence
_SHOWN = 10
Tell = Callable[[int, int], None]


def unreadable(inputs: EmbeddingInputs, tell: Tell = lambda *_: None) -> dict[str, str]:
    """Return the name of each picture that cannot be read with a sentence that says why; every picture is decoded."""
    images = inputs.images
    if not isinstance(images, ImageFiles):
        return {}
    faults: dict[str, str] = {}

    def look(row: int) -> str | None:
        try:
            images.picture(row)
        except DataError as error:
            return str(error)
        return None

    n = len(inputs)
    for begin in range(0, n, _BLOCK):
        end = min(begin + _BLOCK, n)
        found = zip(inputs.names[begin:end], for_each(look, range(begin, end)), strict=True)
        faults.update({name: sentence for name, sentence in found if sentence is not None})
        tell(end, n)
    return faults


def without(inputs: EmbeddingInputs, faults: Mapping[str, str]) -> EmbeddingInputs:
    """Return the rows that can be read, with the names of the others noted."""
    images = inputs.images
    if not faults or not isinstance(images, ImageFiles):
        return inputs
    kept = [row for row, name in enumerate(inputs.names) if name not in faults]
    require(bool(kept), f"none of the {len(inputs)} pictures can be read; {listed(faults)}", DataError)
    return replace(
        inputs,
        images=ImageFiles(
            [images.paths[row] for row in kept],
            root=images.root,
            boxes=None if images.boxes is None else images.boxes[np.array(kept)],
        ),
        names=tuple(inputs.names[row] for row in kept),
        labels=None if inputs.labels is None else inputs.labels[np.array(kept)],
        left_out=tuple(faults),
    )


def listed(faults: Mapping[str, str]) -> str:
    """Return the sentences of the first few, and how many more there are."""
    lines = [f"\n  {sentence}" for sentence in list(faults.values())[:_SHOWN]]
    more = f"\n  and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
    return f"{len(faults)} cannot be read:{''.join(lines)}{more}"
