"""Build the embedded data set `icons`: pictograms of one concept, drawn by many icon sets.

The drawings come from the npm package `@iconify/json`, which carries some two hundred icon sets as SVG with the licence
of each. The shipped file was built from version 2.2.535 with `resvg_py` 0.5.0; the same two versions give the same
bytes again.

A class is a concept listed in `icon_concepts.txt`: its name as icon sets spell it. Concepts that are synonyms
(megaphone, bullhorn), variants (bell, bell-slash), mirror images (undo, redo) or words with two meanings (apple) of one
another are left out of that list, so that two classes never mean the same drawing.
"""

import argparse
import csv
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from icon_drawings import Drawing, digest, drawings_of, read_concepts, render, renderer, usable_sets
from rich.console import Console
from rich.progress import track

from fairground.records.arrays import write_arrays

PACKAGE_VERSION = "2.2.535"
RENDERER_VERSION = "0.5.0"
MOST_PER_CLASS = 75
#: cosine between two drawings of a concept above which one is a copy of the other, line width and grid aside
COPY = 0.86
#: cosine between drawings of two concepts above which they are one drawing under two names
SHARED = 0.95
SHIPPED = Path(__file__).parent.parent / "src" / "fairground" / "datasets" / "data" / "icons.npz"
CONCEPTS = Path(__file__).with_name("icon_concepts.txt")


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the cosine of every left image with every right one (n, m), to the same digit on every machine.

    Sums of products of bytes are whole numbers that double precision holds exactly, in whatever order they are added.
    """
    left, right = (images.reshape(len(images), -1).astype(np.float64) for images in (left, right))
    squares = np.square(left).sum(1)[:, None] * np.square(right).sum(1)
    return np.asarray(left @ right.T / np.sqrt(np.maximum(squares, 1)))


def without_copies(images: np.ndarray, *, copy: float = COPY) -> list[int]:
    """Return the rows to keep: one is dropped when an earlier kept one has a cosine above `copy` to it."""
    likeness = cosines(images, images)
    kept: list[int] = []
    for row in range(len(images)):
        if not (likeness[row, kept] > copy).any():
            kept.append(row)
    return kept


def without_shared(images: np.ndarray, labels: np.ndarray, *, shared: float = SHARED, block: int = 1024) -> list[int]:
    """Return the rows to keep: a drawing that two concepts share says nothing about either, and both are dropped."""
    kept: list[int] = []
    for start in range(0, len(images), block):
        likeness = cosines(images[start : start + block], images)
        likeness[labels[start : start + block, None] == labels] = 0
        kept += (start + np.flatnonzero(likeness.max(1) <= shared)).tolist()
    return kept


def half_of(concept: str) -> int:
    """Return 0 (train) or 1 (test) by the hash of the name, so that a concept keeps its half in every build."""
    return int(digest(concept)[0], 16) // 8


def chosen(images: np.ndarray, concepts: np.ndarray, *, least: int, most: int = MOST_PER_CLASS) -> list[int]:
    """Return the rows of the data set, in order of concept: no copies, no shared drawings, `least` to `most` each."""
    distinct: list[int] = []
    for concept in np.unique(concepts):
        rows = np.flatnonzero(concepts == concept)
        distinct += rows[without_copies(images[rows])].tolist()
    rows = np.array(distinct, dtype=np.int64)
    rows = rows[without_shared(images[rows], concepts[rows])]
    kept: list[int] = []
    for concept in np.unique(concepts):
        own = rows[concepts[rows] == concept]
        kept += own[:most].tolist() if len(own) >= least else []
    return kept


def write_attribution(path: Path, collections: Mapping[str, Any], source_sets: Sequence[str], version: str) -> None:
    """Write one row for every set that gave an image: who drew it, under which licence, where it lives."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["prefix", "name", "author", "licence", "licence_url", "url", "n_images", "package"])
        for prefix, n_images in sorted(Counter(source_sets).items()):
            facts = collections[prefix]
            author, licence = facts["author"], facts["license"]
            licence_url = licence.get("url") or f"https://spdx.org/licenses/{licence['spdx']}.html"
            url = author.get("url") or f"https://icon-sets.iconify.design/{prefix}/"
            row = [prefix, facts["name"], author["name"], licence["spdx"], licence_url, url, n_images]
            writer.writerow([*row, f"@iconify/json@{version}"])


def read_drawings(source: Path, collections: Mapping[str, Any], console: Console) -> list[Drawing]:
    """Return the drawings of all usable sets, in order of set and concept."""
    concepts = read_concepts(CONCEPTS.read_text(encoding="utf-8").splitlines())
    found: list[Drawing] = []
    for prefix in track(usable_sets(collections), description="Reading the sets", console=console):
        icon_set = json.loads((source / "json" / f"{prefix}.json").read_text(encoding="utf-8"))
        found += drawings_of(prefix, icon_set, concepts)
    return found


def build(source: Path, out: Path, *, size: int, least: int, console: Console) -> None:
    """Read, render, choose, and write the data set and its attribution."""
    version = json.loads((source / "package.json").read_text(encoding="utf-8"))["version"]
    for part, pinned, found in (("package", PACKAGE_VERSION, version), ("renderer", RENDERER_VERSION, renderer())):
        if found != pinned:
            console.print(f"Note: the shipped file was made with {part} version {pinned}; this is {found}.")
    collections = json.loads((source / "collections.json").read_text(encoding="utf-8"))
    drawings = read_drawings(source, collections, console)
    sizes = Counter(drawing.concept for drawing in drawings)
    drawings = [drawing for drawing in drawings if sizes[drawing.concept] >= least]
    rendered = [render(d.svg, size=size) for d in track(drawings, description="Rendering", console=console)]
    pairs = [(d, image) for d, image in zip(drawings, rendered, strict=True) if image is not None]
    images = np.stack([image for _, image in pairs])
    rows = chosen(images, np.array([d.concept for d, _ in pairs]), least=least)
    picked = [pairs[row][0] for row in rows]
    names, labels = np.unique([d.concept for d in picked], return_inverse=True)
    arrays = {
        "images": images[rows],
        "labels": labels.astype(np.int16),
        "class_names": names,
        "split": np.array([half_of(d.concept) for d in picked], dtype=np.uint8),
        "source_set": np.array([d.source_set for d in picked]),
        "source_name": np.array([d.source_name for d in picked]),
    }
    write_arrays(out, arrays)
    attribution = out.with_name(f"{out.stem}-attribution.csv")
    write_attribution(attribution, collections, arrays["source_set"].tolist(), version)
    counts = np.bincount(labels)
    console.print(f"{len(rows)} images, {len(names)} classes of {counts.min()} to {counts.max()}, {size} x {size}.")
    console.print(f"{out} ({out.stat().st_size} bytes)\n{attribution}", soft_wrap=True)
    console.print(f"SHA-256 {hashlib.sha256(out.read_bytes()).hexdigest()}", soft_wrap=True)


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n\n")[0]
        + " Reads an unpacked npm package, renders every icon of the listed concepts, removes copies, and writes an "
        ".npz (images, labels, class_names, split, source_set, source_name) with an attribution table beside it.",
        epilog=f"""To get the package (100 MB, 460 MB unpacked) and the renderer:

  npm pack @iconify/json@{PACKAGE_VERSION}
  tar xzf iconify-json-{PACKAGE_VERSION}.tgz
  pip install resvg-py=={RENDERER_VERSION}

Then build what fairground ships, or its larger sibling:

  python scripts/build_icons.py --source package
  python scripts/build_icons.py --source package --large --out icons-large.npz
  fairground train data=icons data.path=icons-large.npz

When the shipped file changes, put the SHA-256 printed at the end into src/fairground/datasets/icons.py.""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--source", type=Path, required=True, help="folder of the unpacked npm package @iconify/json")
    made.add_argument("--out", type=Path, help="the .npz to write; the one inside the package when not given")
    made.add_argument(
        "--large",
        action="store_true",
        help="the sibling with many small classes, as in Stanford Online Products: concepts with at least 6 drawings "
        "instead of 15, 48 x 48 instead of 32 x 32; needs --out",
    )
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse, check, build."""
    command = parser()
    asked = command.parse_args(arguments)
    if asked.large and asked.out is None:
        command.error("--large needs --out: the package ships the small data set only")
    if not (asked.source / "collections.json").is_file():
        command.error(f"{asked.source} is not an unpacked @iconify/json: it has no collections.json; see --help")
    out = asked.out or SHIPPED
    if not out.parent.is_dir():
        command.error(f"there is no folder {out.parent} to write {out.name} to")
    size, least = (48, 6) if asked.large else (32, 15)
    build(asked.source, out, size=size, least=least, console=Console(stderr=True))


if __name__ == "__main__":
    main(sys.argv[1:])
