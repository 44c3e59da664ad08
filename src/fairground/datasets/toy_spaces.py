"""Three toy embedding spaces of two classes in the plane, which Recall@1 and clustering can hardly tell apart.

Formula
    stripes  each class is four bands, in turn with those of the other: neighbours agree, most of a class is far away
    blocks   each class is two blocks at opposite corners of a square
    bands    each class is one long band next to the other

    Points are uniform within each piece. All three have nearly 100 % Recall@1, and k-means with two centres cuts all of
    them across the classes; what differs is how many of the R nearest neighbours are of the class.

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, figure 1.

Departures from the paper
    The paper draws its spaces and prints no coordinates: these are our own, made after its description. The same space
    is drawn three times, to train, to validate and to test, because a run needs all three.
"""

from typing import Literal

import numpy as np

from fairground.contracts.dataset import Dataset, ImageTable
from fairground.loading.image_dataset import FeatureRows

#: left, bottom, width and height of every piece of the two classes
_Piece = tuple[float, float, float, float]
_BAND, _GAP = 0.4, 0.3
_SPACES: dict[str, tuple[tuple[_Piece, ...], tuple[_Piece, ...]]] = {
    "stripes": (
        tuple((0.0, 2 * i * (_BAND + _GAP), 6.0, _BAND) for i in range(4)),
        tuple((0.0, (2 * i + 1) * (_BAND + _GAP), 6.0, _BAND) for i in range(4)),
    ),
    "blocks": (((0.0, 0.0, 1.8, 1.8), (2.0, 2.0, 1.8, 1.8)), ((0.0, 2.0, 1.8, 1.8), (2.0, 0.0, 1.8, 1.8))),
    "bands": (((0.0, 0.0, 4.0, 0.4),), ((0.0, 1.8, 4.0, 0.4),)),
}
_COPIES = ("train", "validation", "test")


class ToySpacesDataset(Dataset):
    """`space` is one of the three; `per_class` points of each class, drawn with `seed`."""

    bounds = {"per_class": "[8, inf)"}

    def __init__(
        self, *, space: Literal["stripes", "blocks", "bands"] = "bands", per_class: int = 400, seed: int = 0
    ) -> None:
        self.space, self.per_class, self.seed = space, per_class, seed

    def load(self) -> ImageTable:
        random = np.random.default_rng(self.seed)
        points, names = [], []
        for copy in _COPIES:
            for label, pieces in zip("AB", _SPACES[self.space], strict=True):
                corners = np.array(pieces)[np.arange(self.per_class) % len(pieces)]
                points.append(np.asarray(corners[:, :2] + random.random((self.per_class, 2)) * corners[:, 2:]))
                names.append(f"{copy} {label}")
        labels = np.repeat(np.arange(len(points)), self.per_class)
        parts = np.repeat(np.array(_COPIES), 2 * self.per_class)
        return ImageTable(
            images=FeatureRows(np.concatenate(points).astype(np.float32), origin=f"toy_spaces {self.space}"),
            labels=labels.astype(np.int64),
            class_names=tuple(names),
            official_test=parts == "test",
            listed_parts=parts,
        )
