"""Grocery Store Dataset for the studies: fruit, vegetables and cartons on the shelves of shops, taken with a telephone.

The repository divides every class into three parts, for classification. Here kinds, which are its coarse classes
(`Apple`, `Milk`), go to one half as a body, in order of the SHA-256 of their names, until half of the classes train: no
kind is in both halves. A shelf is photographed several times; the set does not say which pictures show the same one.
"""

import csv
from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, Shared, half_by_kind

PARTS = ("train", "val", "test")
SET = PictureSet(
    name="groceries",
    title="Grocery Store Dataset",
    repository="marcusklasson/GroceryStoreDataset",
    commit="fc80ba90f803d79d0383df52c5a4ac5de99ff6fc",
    licence="MIT",
    train=Half(classes=42, images=2684),
    test=Half(classes=39, images=2737),
    sha256="5712878338f6004601b1e19132d2ef1784ac0823349a2aae4f88803f9990d654",
    use="data=table data.path={root}/table.csv",
    overlap=Overlap(
        level="categories",
        n_images=None,
        shared=(
            Shared("Granny-Smith", "Granny Smith"),
            Shared("Banana", "banana"),
            Shared("Cabbage", "head cabbage"),
            Shared("Cucumber", "cucumber"),
            Shared("Lemon", "lemon"),
            Shared("Mushroom", "mushroom"),
            Shared("Orange", "orange"),
            Shared("Pepper", "bell pepper"),
            Shared("Pineapple", "pineapple"),
            Shared("Pomegranate", "pomegranate"),
            Shared("Zucchini", "zucchini"),
        ),
        source="names of the categories of ImageNet-1k against those of the classes; the pictures were taken for the "
        "set, after those of ImageNet-1k were collected",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the pictures in order of path; a class is the folder of its pictures, below its kind or in its place."""
    folder = repository / "dataset"
    with (folder / "classes.csv").open(encoding="utf-8", newline="") as opened:
        kinds = {row["Class Name (str)"]: row["Coarse Class Name (str)"] for row in csv.DictReader(opened)}
    learnt = half_by_kind(kinds)
    found = [path.relative_to(folder) for part in PARTS for path in (folder / part).glob("**/*.jpg")]
    return sorted((_picture(path, learnt) for path in found), key=lambda picture: picture.path)


def _picture(path: Path, learnt: set[str]) -> Picture:
    label = path.parent.name
    return Picture(
        source=f"dataset/{path.as_posix()}",
        path=f"images/{label}/{path.parts[0]}_{path.name}",
        label=label,
        split="train" if label in learnt else "test",
    )


if __name__ == "__main__":
    run(SET, pictures)
