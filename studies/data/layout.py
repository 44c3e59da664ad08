"""Lay a set of pictures out as data for fairground, or refuse in a sentence.

The folder made has `images/<class>/...`, `table.csv` (path, label, split and perhaps group) and `data.json`, the
description of the set. It appears only when the counts and the SHA-256 of everything in it are those of the set.
"""

import argparse
import csv
import hashlib
import io
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from picture_set import Half, Picture, PictureSet, content_hash
from rich.console import Console
from rich.progress import track

from fairground.errors import DataError, FairgroundError, require

TABLE = "table.csv"
DESCRIPTION = "data.json"
Plan = Callable[[Path], list[Picture]]


def lay_out(described: PictureSet, plan: Plan, repository: Path, out: Path, *, console: Console) -> None:
    """Copy the planned pictures from a copy of the repository to the new folder `out`, counted and hashed."""
    require(repository.is_dir(), f"there is no folder '{repository}'; {_advice(described)}", DataError)
    require(not out.exists(), f"'{out}' exists already; remove it or name another folder", DataError)
    pictures = plan(repository)
    check_counts(described, pictures)
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        found = _copy(pictures, repository, partial, f"Copying {described.title}", console)
        require(
            found == described.sha256,
            f"the content of {described.title} differs: its SHA-256 must be {described.sha256}; this copy has {found}. "
            f"Nothing was laid out; {_advice(described)}",
            DataError,
        )
        (partial / DESCRIPTION).write_text(json.dumps(asdict(described), indent=2) + "\n", encoding="utf-8")
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_counts(described: PictureSet, pictures: Sequence[Picture]) -> None:
    """Refuse a copy that has other numbers of classes or pictures."""
    found = {split: _half([each for each in pictures if each.split == split]) for split in ("train", "test")}
    wanted = {"train": described.train, "test": described.test}
    require(
        found == wanted,
        f"{described.title} has {_in_words(wanted)}; this copy has {_in_words(found)}. {_advice(described)}",
        DataError,
    )


def table_bytes(pictures: Sequence[Picture]) -> bytes:
    """Return the table of pictures as CSV; `group` is a column only where pictures have groups."""
    names = ["path", "label", "split", "group"] if any(each.group for each in pictures) else ["path", "label", "split"]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([getattr(each, name) for name in names] for each in pictures)
    return text.getvalue().encode()


def run(described: PictureSet, plan: Plan, arguments: Sequence[str] | None = None) -> None:
    """Parse the command line of a set's script and lay the set out."""
    asked = _parser(described).parse_args(arguments)
    console = Console(stderr=True)
    try:
        lay_out(described, plan, asked.repository, asked.out, console=console)
    except FairgroundError as error:
        console.print(f"Refused: {error}", markup=False, soft_wrap=True)
        sys.exit(error.exit_code)
    print(f"{asked.out}: {_in_words({'train': described.train, 'test': described.test})}")
    print(f"SHA-256 {described.sha256}")
    print(f"fairground train ... {described.use.format(root=asked.out)}")


def _parser(described: PictureSet) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=f"Lay {described.title} out as data for fairground. The source is a copy of the public repository "
        f"{described.repository}, commit {described.commit}; licence: {described.licence}.",
        epilog=f"Then: fairground train ... {described.use.format(root='DATA_FOLDER')}",
    )
    made.add_argument("repository", metavar="COPY_OF_REPOSITORY", type=Path, help="folder with the repository's files")
    made.add_argument("-o", "--out", metavar="DATA_FOLDER", type=Path, required=True, help="the folder to make")
    return made


def _copy(pictures: Sequence[Picture], repository: Path, out: Path, title: str, console: Console) -> str:
    """Copy the pictures, write their table, and return the hash of both."""
    entries = []
    for picture in track(pictures, description=title, console=console):
        entries.append((picture.path, _write(out / picture.path, _read(repository / picture.source))))
    entries.append((TABLE, _write(out / TABLE, table_bytes(pictures))))
    return content_hash(entries)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}") from error


def _write(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _half(pictures: Sequence[Picture]) -> Half:
    return Half(classes=len({each.label for each in pictures}), images=len(pictures))


def _in_words(halves: dict[str, Half]) -> str:
    train, test = halves["train"], halves["test"]
    return f"{train.classes} + {test.classes} classes with {train.images:,} + {test.images:,} pictures (train + test)"


def _advice(described: PictureSet) -> str:
    return f"take a copy of the repository {described.repository} at commit {described.commit}"
