"""A table of your own: a CSV or Parquet file with a path and a label for each image, and whatever else is known.

Formula
    path, label or labels [, split, query, gallery, group, super_label, super_label_2, ..., x1, y1, x2, y2]: a row each
    labels are several names per image, like red|round, of which the first is its class where one is needed
    split is train, validation (val) or test; query and gallery are true or false; pairs of one group are never
    compared; super_label (or category) is a super-class, super_label_2 one of super-classes, and so on; the box
    x1, y1, x2, y2 is cut out, in pixels, right and bottom edge left out

Paper
    None. The names of OpenMetricLearning's tables are understood too: is_query, is_gallery, sequence, x_1 ... y_2.

Departures from the paper
    A row with four empty edges keeps its whole image; one with some of them empty is refused.
"""

from pathlib import Path

import numpy as np

from fairground.contracts.dataset import DataError, ImageTable, label_sets_of, require
from fairground.loading import Columns, PhotoDataset, classes_of, held_out, parts_from_words, photo_table, read_columns

#: column -> the names it may have
NAMES = {
    **{name: (name,) for name in ("path", "split")},
    "label": ("label", "labels"),
    "super_label": ("super_label", "category"),
    **{name: (name, f"is_{name}") for name in ("query", "gallery")},
    "group": ("group", "sequence"),
    **{edge: (edge, f"{edge[0]}_{edge[1]}") for edge in ("x1", "y1", "x2", "y2")},
}


class TableDataset(PhotoDataset):
    """`path` is the table; image paths in it are relative to `root`, or to the table's own folder when that is empty.

    `draft` shrinks JPEGs only where no boxes are given.
    """

    def __init__(self, *, path: str, root: str = "", prepared: int = 0, draft: bool = False) -> None:
        super().__init__(root=root, prepared=prepared, draft=draft)
        require(bool(path), "table.path must be a CSV or Parquet file with columns path and label")
        self.path = path

    def photos(self) -> ImageTable:
        file = Path(self.path).expanduser()
        columns = read_columns(file)
        has = {name: columns.pick(*names) for name, names in NAMES.items()}
        named = has["label"] or "label"
        for name in ("path", named):
            columns.require_filled(name)
        sets = None
        if named == "labels":
            labels, sets, class_names = label_sets_of(columns.text(named), str(file))
        else:
            labels, class_names = classes_of(columns.text(named))
        wider = [name for level in range(2, 10) if (name := f"super_label_{level}") in columns.names]
        known = {*(name for names in NAMES.values() for name in names), *wider}
        strange = [name or "(no name)" for name in columns.names if name not in known]
        parts = None if has["split"] is None else parts_from_words(columns.text(has["split"]), str(file))
        query, gallery = has["query"], has["gallery"]
        only = "queries" if query else "a gallery"
        complaint = f"{file} has a column for {only} only; both are needed"
        require((query is None) == (gallery is None), complaint, DataError)
        return photo_table(
            Path(self.root).expanduser() if self.root else file.parent,
            columns.text("path"),
            labels,
            class_names=class_names,
            label_sets=sets,
            official_test=None if parts is None else held_out(parts),
            listed_parts=parts,
            is_query=None if query is None else columns.truth(query),
            is_gallery=None if gallery is None else columns.truth(gallery),
            super_labels=None if has["super_label"] is None else classes_of(columns.text(has["super_label"]))[0],
            wider_labels=np.column_stack([classes_of(columns.text(name))[0] for name in wider]) if wider else None,
            groups=None if has["group"] is None else classes_of(columns.text(has["group"]))[0],
            boxes=_boxes(columns, has),
            notes=(f"data: columns of the table not used: {', '.join(strange)}",) if strange else (),
        )


def _boxes(columns: Columns, has: dict[str, str | None]) -> np.ndarray | None:
    named = [name for edge in ("x1", "y1", "x2", "y2") if (name := has[edge]) is not None]
    if not named:
        return None
    require(len(named) == 4, f"{columns.path} has {', '.join(named)}; a box needs all of x1, y1, x2, y2", DataError)
    boxes = np.stack([columns.integers(name, 0) for name in named], axis=1)
    blank = np.stack([columns.blank(name) for name in named], axis=1)
    is_blank = blank.all(axis=1)
    if (torn := np.flatnonzero(blank.any(axis=1) & ~is_blank)).size:
        told = f"{len(torn)} boxes lack some of their edges; the first is in row {torn[0] + 1}"
        raise DataError(f"{columns.path}: {told}. Leave all four empty for a whole image")
    wrong = (boxes[:, 0] >= boxes[:, 2]) | (boxes[:, 1] >= boxes[:, 3]) | (boxes < 0).any(axis=1)
    if (bad := np.flatnonzero(wrong & ~is_blank)).size:
        told = f"{len(bad)} boxes are empty or begin outside the image; the first is in row {bad[0] + 1}"
        raise DataError(f"{columns.path}: {told}: {boxes[bad[0]].tolist()}")
    return boxes
