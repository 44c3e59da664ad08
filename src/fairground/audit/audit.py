"""What is wrong with a data set before anything is trained on it: leaks between splits above all."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from fairground.audit import AuditRows, Copies, LabelSuspect, Progress, copies, image_scan
from fairground.contracts.dataset import Dataset, ImageTable
from fairground.loading.image_dataset import ImageFiles, PhotoDataset
from fairground.spec import ComponentSpec, require, shown, write_atomically
from fairground.training.assemble import build

#: how many sentences about files that cannot be read are kept
_FAULTS = 10_000
_KINDS = ("near duplicate", "exact duplicate")


@dataclass(frozen=True, kw_only=True)
class Audit:
    """All findings, as plain data. `shared_classes` names the classes of each pair of parts, such as "train, test"."""

    n_images: int
    n_classes: int
    parts: Mapping[str, tuple[int, int]]
    class_sizes: Mapping[str, float]
    image_sizes: Mapping[str, int]
    unreadable: int
    unreadable_examples: tuple[str, ...]
    duplicates: Copies
    near_duplicates: Copies | None
    too_plain: int
    shared_classes: Mapping[str, tuple[str, ...]]
    is_closed_set: bool
    notes: tuple[str, ...] = ()
    near_rule: str = (
        f"near: at most {copies.THRESHOLD} of {copies.N_BITS} brightness differences of a 17 x 16 thumbnail differ, "
        "and a fifth of those either has; mirrored or cropped copies are not found"
    )
    failures: tuple[str, ...] = ()


def audit_in_detail(
    dataset: Dataset, split: ComponentSpec | None = None, progress: Progress = lambda *_: None
) -> tuple[Audit, AuditRows]:
    table = dataset.photos() if isinstance(dataset, PhotoDataset) else dataset.load()
    scans = image_scan.scan_images(table.images, progress)
    is_closed, part_names, part_of = _parts(table, split)
    rows = AuditRows(table=table, part_names=part_names, part_of=part_of, scans=scans)
    readable = rows.readable
    duplicates, pairs = copies.exact_copies(rows)
    near, near_pairs = copies.near_copies(rows)
    sizes = np.unique(table.labels, return_counts=True)[1]
    of_parts = {name: table.labels[part_of == number] for number, name in enumerate(part_names)}
    shared_classes = {}
    for one, other in combinations([name for name in part_names if name != "in no part"], 2):
        if len(both := np.intersect1d(of_parts[one], of_parts[other])):
            shared_classes[f"{one}, {other}"] = tuple(table.class_names[label] for label in both)
    failures = tuple(
        f"TRAIN AND TEST SHARE {len(leaked)} CLASSES (the first is {shown(leaked[0])}): scores on them are those of "
        "classification, not of metric learning"
        for parts, leaked in shared_classes.items()
        if parts == "train, test"
    )
    bits = np.empty((0, 4), np.uint64) if scans.bits is None else scans.bits[readable]
    sizes, n = np.sort(sizes), len(sizes)
    findings = Audit(
        n_images=len(table.labels),
        n_classes=len(sizes),
        parts={name: (len(mine), len(np.unique(mine))) for name, mine in of_parts.items() if len(mine)},
        class_sizes={
            "smallest": int(sizes[0]),
            "median": float(np.median(sizes)),
            "largest": int(sizes[-1]),
            "ratio": float(sizes[-1] / sizes[0]),
            # 0 for equal classes, near 1 when one has nearly all images.
            "gini": float((2 * np.arange(1, n + 1) - n - 1) @ sizes / (n * sizes.sum())),
            "of_one_image": int((sizes == 1).sum()),
        },
        image_sizes=_image_sizes(scans.sizes, readable),
        unreadable=len(scans.faults),
        unreadable_examples=tuple(list(scans.faults.values())[:_FAULTS]),
        duplicates=duplicates,
        near_duplicates=near,
        too_plain=int((copies.count_bits(bits) < copies.MIN_BITS).sum()),
        shared_classes=shared_classes,
        is_closed_set=is_closed,
        notes=table.notes,
        failures=failures,
    )
    return findings, replace(rows, pairs=(*pairs, *near_pairs))


def _parts(table: ImageTable, split: ComponentSpec | None) -> tuple[bool, tuple[str, ...], np.ndarray]:
    """Return whether the set is closed, the names of its parts and the part of each row: by a split, or its own."""
    names = ("train", "validation", "test", "in no part")
    if split is not None:
        made = build("split", split).parts(table)
        part_of = np.full(len(table.labels), 3)
        for number, rows in enumerate((made.train, made.validation, made.test)):
            part_of[rows] = number
        return made.is_closed_set, names, part_of
    if table.listed_parts is not None:
        return False, names, np.array([names.index(part) if part else 3 for part in table.listed_parts.tolist()])
    if table.official_test is not None:
        return False, names, np.where(table.official_test, 2, 0)
    return False, ("all",), np.zeros(len(table.labels), np.int64)


def _image_sizes(sizes: np.ndarray | None, readable: np.ndarray) -> dict[str, int]:
    if sizes is None or not len(readable):
        return {}
    sides = np.sort(sizes[readable], axis=1)
    return {
        "shorter_side_smallest": int(sides[:, 0].min()),
        "shorter_side_median": int(np.median(sides[:, 0])),
        "longer_side_largest": int(sides[:, 1].max()),
        "distinct_sizes": len(np.unique(sizes[readable], axis=0)),
    }


def write_findings(rows: AuditRows, suspects: Sequence[LabelSuspect], out: Path) -> int:
    header = ("finding", "image", "class", "part", "other image", "other class", "other part", "value")
    lines = [
        *(("unreadable", *_named(rows, row), "", "", "", "") for row in rows.scans.faults),
        *((_KINDS[pair.is_exact], *_named(rows, pair.second), *_named(rows, pair.first), "") for pair in rows.pairs),
        *(("suspect label", *_named(rows, one.row), "", one.suggested, "", f"{one.suspicion:.6g}") for one in suspects),
    ]
    _write(out, header, lines)
    return len(lines)


def write_clean(rows: AuditRows, out: Path) -> int:
    """Write a table of the images without copies and unreadable files, for `data=table`, and return its length.

    The first of several copies stays. Of exact copies in different classes none stays: either label may be wrong.
    """
    refusal = f"--write-clean writes a CSV table: give a name that ends in .csv; got '{out}'"
    require(out.suffix.lower() == ".csv", refusal)
    table, files = rows.table, rows.table.images
    assert isinstance(files, ImageFiles)
    gone, labels = set(rows.scans.faults), table.labels[:, None] if table.label_sets is None else table.label_sets
    for pair in sorted(rows.pairs, key=lambda pair: not pair.is_exact):
        if pair.is_exact and (labels[pair.first] != labels[pair.second]).any():
            gone.add(pair.first)
        # A near copy of a removed image stays.
        if pair.is_exact or pair.first not in gone:
            gone.add(pair.second)
    columns = {"path": [str(path.resolve()) for path in files.paths]}
    columns["label"] = [table.class_names[label] for label in table.labels]
    if table.label_sets is not None:
        # The class first, and then the others in order.
        rows_of = zip(table.label_sets, table.labels, strict=True)
        sets = [(own, *np.setdiff1d(np.flatnonzero(row), own)) for row, own in rows_of]
        columns["labels"] = ["|".join(table.class_names[label] for label in row) for row in sets]
        del columns["label"]
    if len(rows.part_names) > 1:
        columns["split"] = [rows.part_names[part].replace("in no part", "") for part in rows.part_of]
    boxes = {} if files.boxes is None else dict(zip(("x1", "y1", "x2", "y2"), files.boxes.T, strict=True))
    marks = {"is_query": table.is_query, "is_gallery": table.is_gallery}
    wider = () if table.wider_labels is None else table.wider_labels.T
    levels = {f"super_label_{level}": column for level, column in enumerate(wider, 2)}
    numbers = {**marks, "group": table.groups, "super_label": table.super_labels, **levels, **boxes}
    columns |= {name: [str(int(value)) for value in column] for name, column in numbers.items() if column is not None}
    lines = [line for row, line in enumerate(zip(*columns.values(), strict=True)) if row not in gone]
    _write(out, tuple(columns), lines)
    return len(lines)


def _named(rows: AuditRows, row: int) -> tuple[str, str, str]:
    return rows.names[row], rows.table.class_names[rows.table.labels[row]], rows.part_names[rows.part_of[row]]


def _write(out: Path, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    write_atomically(out, text.getvalue().encode())
