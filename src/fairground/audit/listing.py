"""The findings of an audit as tables: every copy, unreadable file and suspect label, and the data set without them."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from fairground.audit.audit import AuditRows
from fairground.audit.label_suspects import LabelSuspect
from fairground.errors import require
from fairground.files import write_atomically
from fairground.loading.photo_dataset import Photos


def write_findings(rows: AuditRows, suspects: Sequence[LabelSuspect], out: Path) -> int:
    """Write one line for each finding and return how many there are."""
    header = ("finding", "image", "class", "part", "other image", "other class", "other part", "value")
    lines = [
        *(("unreadable", *_named(rows, row), "", "", "", "") for row in rows.faults),
        *(
            (
                "exact duplicate" if pair.is_exact else "near duplicate",
                *_named(rows, pair.second),
                *_named(rows, pair.first),
                "",
            )
            for pair in rows.pairs
        ),
        *(("suspect label", *_named(rows, one.row), "", one.suggested, "", f"{one.suspicion:.6g}") for one in suspects),
    ]
    _write(out, header, lines)
    return len(lines)


def kept_rows(rows: AuditRows) -> list[int]:
    """Return the rows of a table without copies: the first of each stays.

    Of exact copies in different classes none stays: nobody can say which label is right.
    """
    gone = set(rows.faults)
    for pair in sorted(rows.pairs, key=lambda pair: not pair.is_exact):
        if pair.is_exact and rows.labels[pair.first] != rows.labels[pair.second]:
            gone.add(pair.first)
        # A near copy of an image that went already is the one that stays.
        if pair.is_exact or pair.first not in gone:
            gone.add(pair.second)
    return [row for row in range(len(rows.labels)) if row not in gone]


def write_clean(rows: AuditRows, photos: Photos, out: Path) -> int:
    """Write a table of the images without copies and unreadable files, for `data=table`, and return its length."""
    require(
        out.suffix.lower() == ".csv", f"--write-clean writes a CSV table: give a name that ends in .csv; got '{out}'"
    )
    kept = kept_rows(rows)
    columns = {
        "path": [str((photos.root / path).resolve()) for path in photos.paths],
        "label": [rows.class_names[label] for label in rows.labels],
        **_further_columns(rows, photos),
    }
    lines = [tuple(column[row] for column in columns.values()) for row in kept]
    _write(out, tuple(columns), lines)
    return len(lines)


def _further_columns(rows: AuditRows, photos: Photos) -> dict[str, list[str]]:
    """Return the parts and whatever else is known of the images, under the names that a table has for them."""
    found = {}
    if len(rows.part_names) > 1:
        parts = [rows.part_names[part] for part in rows.part_of]
        found["split"] = ["" if part == "in no part" else part for part in parts]
    named = {
        "is_query": photos.is_query,
        "is_gallery": photos.is_gallery,
        "group": photos.groups,
        "category": photos.super_labels,
    }
    found |= {name: [str(int(value)) for value in column] for name, column in named.items() if column is not None}
    if photos.boxes is not None:
        edges = zip(("x1", "y1", "x2", "y2"), photos.boxes.T, strict=True)
        found |= {name: [str(int(value)) for value in column] for name, column in edges}
    return found


def _named(rows: AuditRows, row: int) -> tuple[str, str, str]:
    return rows.identifiers[row], rows.class_names[rows.labels[row]], rows.part_names[rows.part_of[row]]


def _write(out: Path, header: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    write_atomically(out, text.getvalue().encode())
