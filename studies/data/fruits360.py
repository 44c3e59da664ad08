"""Fruits-360 for the studies: at most 60 of the some 700 pictures of each fruit, vegetable, nut or seed.

A class of the repository is one object, filmed while it turns; a film is named by the letters before the number of the
frame (`r1_31_100.jpg`). Frames of one film are nearly equal, so a film is a group: a query searches other films only.
Two classes are spelt in two ways (`BlackBerry 3`, `Blackberry 3`); each is one class here.

Of every class those pictures are taken whose path has the lowest SHA-256. Kinds, which are the first words of classes
(`Apple`, `Pear`), go to one half as a body, in order of the SHA-256 of the word, until half of the classes train: no
kind of fruit is in both halves.
"""

from collections import defaultdict
from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, Shared, digest, files_below, half_by_kind

MOST_PER_CLASS = 60
SET = PictureSet(
    name="fruits360",
    title="Fruits-360",
    repository="fruits-360/fruits-360-100x100",
    commit="da8acc1f22b3d365058698edb395178bef61cdfc",
    licence="CC BY-SA 4.0",
    train=Half(classes=128, images=7680),
    test=Half(classes=129, images=7740),
    sha256="50d30bc4be65dd7ec75ab2a47a7ec695e97162bbf3006bfe6b355bc10ef6d73d",
    use="data=table data.path={root}/table.csv",
    overlap=Overlap(
        level="categories",
        n_images=None,
        shared=(
            Shared("Apple Granny Smith", "Granny Smith"),
            Shared("Banana", "banana"),
            Shared("Cabbage", "head cabbage"),
            Shared("Cauliflower", "cauliflower"),
            Shared("Cherimoya", "custard apple"),
            Shared("Corn", "corn"),
            Shared("Cucumber", "cucumber"),
            Shared("Fig", "fig"),
            Shared("Lemon", "lemon"),
            Shared("Orange", "orange"),
            Shared("Pepper", "bell pepper"),
            Shared("Pineapple", "pineapple"),
            Shared("Pomegranate", "pomegranate"),
            Shared("Strawberry", "strawberry"),
            Shared("Zucchini", "zucchini"),
        ),
        source="names of the categories of ImageNet-1k against those of the classes; the pictures were filmed by the "
        "author of the set from 2017 on, after those of ImageNet-1k were collected",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the chosen pictures in order of path."""
    by_class: dict[str, list[Path]] = defaultdict(list)
    for path in files_below(repository, ("Training", "Test")):
        by_class[class_of(path)].append(path)
    learnt = half_by_kind({label: label.split()[0] for label in by_class})
    planned = [_picture(path, learnt) for paths in by_class.values() for path in chosen(paths)]
    return sorted(planned, key=lambda picture: picture.path)


def class_of(path: Path) -> str:
    """Return the class of `part/class/name`, whichever way it is spelt."""
    return path.parent.name.replace("BlackBerry", "Blackberry")


def chosen(paths: list[Path]) -> list[Path]:
    """Return the pictures of a class that are taken."""
    return sorted(paths, key=lambda path: digest(path.as_posix()))[:MOST_PER_CLASS]


def _picture(path: Path, learnt: set[str]) -> Picture:
    part, label = path.parts[0].lower(), class_of(path)
    letters = path.name.split("_")[0]
    film = letters if letters.startswith("r") else "plain"
    return Picture(
        source=path.as_posix(),
        # A frame of one number is in both parts of the repository at times, and not the same.
        path=f"images/{label}/{part}_{path.name}",
        label=label,
        split="train" if label in learnt else "test",
        group=f"{label} {film}",
    )


if __name__ == "__main__":
    run(SET, pictures)
