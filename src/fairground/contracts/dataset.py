"""What every data set is: settings in, a table out, with labels in memory and images by row."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fairground.contracts import DataError, Part, require

#: what the files of these parts need beside what is defined here
__all__ = ["DataError", "ImageTable", "require"]


class Images(ABC):
    """Something that gives images by row, as uint8; or ready-made features, which are images without height and width.

    Photographs differ in size, so they are asked for by boxes of (left, top, right, bottom) in pixels of the image
    after its shorter side was resized, where `shorter_side` says so.
    """

    #: whether reading takes long enough that the next batch should be read while this one is trained on
    is_slow: bool = False
    #: whether there is anything to look at: not so for features
    is_picture: bool = True
    #: the number of channels of every image, or the width of the features
    channels: int

    @abstractmethod
    def __len__(self) -> int: ...

    def prepare(self, tell: Callable[[int, int], None] | None = None) -> None:
        """Do now what would make the first images slow, telling how many of how many are done; mostly nothing."""

    def cache_sentence(self) -> str:
        """Say what `prepare` left on the disk, and where; mostly nothing."""
        return ""

    def require_side(self, shorter_side: int) -> None:
        """Refuse, before anything is read, a shorter side that these images cannot be had with; mostly none."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Tensor:
        """Return the whole images (k, c, h, w) of `rows`, or their features (k, d), in that order.

        Refused where images differ in size.
        """

    @abstractmethod
    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        """Return height and width (k, 2) of the images of `rows`."""

    @abstractmethod
    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> Tensor:
        """Return one box (k, 4) of each image of `rows`, resized to a square: uint8 (k, c, side, side)."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash that changes when any image does."""


@dataclass(frozen=True, kw_only=True)
class ImageTable:
    """`labels` (n,) index `class_names`; `official_test` (n,) marks the rows of the published test half, if any.

    `super_labels` (n,) says which kind of thing each class is, where the data set has such a tree, and `wider_labels`
    (n, k) of which ever wider kinds that is. `label_sets` (n, C) marks all labels of an image where it may have
    several; the first is in `labels`, and splits by class go by that. `listed_parts` (n,) holds "train", "validation",
    "test" or "" where a user's list says so. `is_query` and `is_gallery` (n,) mark who searches whom at the end, where
    the data set says so. Pairs of one of the `groups` (n,), such as a camera or a sequence, are never compared. `notes`
    are sentences for the record, such as what was left out.
    """

    images: Images
    labels: np.ndarray
    class_names: tuple[str, ...]
    official_test: np.ndarray | None = None
    identifiers: tuple[str, ...] | None = None
    super_labels: np.ndarray | None = None
    wider_labels: np.ndarray | None = None
    label_sets: np.ndarray | None = None
    listed_parts: np.ndarray | None = None
    is_query: np.ndarray | None = None
    is_gallery: np.ndarray | None = None
    groups: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.labels)
        require(n > 0, "the data set is empty", DataError)
        require(len(self.images) == n, f"{len(self.images)} images but {n} labels", DataError)
        require(self.labels.ndim == 1, f"labels must be one number per image; got shape {self.labels.shape}", DataError)
        refusal = f"labels must be in 0..{len(self.class_names) - 1}; got {self.labels.min()}..{self.labels.max()}"
        require(int(self.labels.min()) >= 0 and int(self.labels.max()) < len(self.class_names), refusal, DataError)
        for name, array in vars(self).items():
            if isinstance(array, np.ndarray):
                is_one_each = len(array) == n and (array.ndim == 1 or name in ("wider_labels", "label_sets"))
                require(is_one_each, f"{name} needs one entry per image; got {array.shape} for {n} images", DataError)
        are_together = (self.is_query is None) == (self.is_gallery is None)
        require(are_together, "is_query and is_gallery must be given together", DataError)

    def label_rows(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and the label that each is drawn by: its class, or where it has several labels once by each."""
        if self.label_sets is None:
            return rows, self.labels[rows]
        place, label = np.nonzero(self.label_sets[rows])
        return rows[place], label

    def levels(self) -> np.ndarray | None:
        """Return the label (n, L) of each image at every level, its class first; None where there are no super-classes.

        Refused where a class of one level has images in two classes of the next.
        """
        if self.super_labels is None:
            return None
        wider = () if self.wider_labels is None else (self.wider_labels,)
        levels = np.column_stack([self.labels, self.super_labels, *wider])
        require_tree(levels)
        return levels


def label_sets_of(words: Sequence[str], origin: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the first label (n,), marks (n, C) of all labels, and their names, from words like `red|round`."""
    rows = [[label for part in word.split("|") if (label := part.strip())] for word in words]
    empty = next((row + 1 for row, labels in enumerate(rows) if not labels), 0)
    require(not empty, f"{origin}: labels must be names separated by |; row {empty} has none", DataError)
    names = sorted({label for labels in rows for label in labels})
    number = {name: place for place, name in enumerate(names)}
    marks = np.zeros((len(rows), len(names)), np.uint8)
    for row, labels in enumerate(rows):
        marks[row, [number[label] for label in labels]] = 1
    return np.array([number[labels[0]] for labels in rows], np.int64), marks, tuple(names)


def require_tree(levels: np.ndarray) -> None:
    """Refuse labels (n, L) by level in which a class of one level is in two classes of the next."""
    for level, (narrow, wide) in enumerate(zip(levels.T, levels.T[1:], strict=False), 1):
        n_split = len(np.unique(np.column_stack([narrow, wide]), axis=0)) - len(np.unique(narrow))
        refusal = f"{n_split} classes of level {level} are in more than one class of level {level + 1}"
        require(n_split == 0, f"levels of labels must form a tree; {refusal}", DataError)


class Dataset(Part, ABC):
    """Knows where its images are. The constructor checks settings; `load` reads."""

    def version(self) -> tuple[str | int, ...] | None:
        """Return what changes whenever `load` would give something else; None where only loading can tell."""
        return None

    @abstractmethod
    def load(self) -> ImageTable:
        """Return the whole data set."""
