"""Omniglot for the studies: handwritten characters of the eight alphabets of the two small background sets.

Both archives are unpacked where they are first: `unzip` of `python/images_background_small1.zip` and of
`python/images_background_small2.zip`. Two alphabets are in both and are taken once. A character is a class, drawn by 20
people once each. Alphabets go to one half as a body, in order of the SHA-256 of their names, until half of the
characters train: no alphabet is in both halves.
"""

from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, half_by_kind

PARTS = ("images_background_small1", "images_background_small2")
SET = PictureSet(
    name="omniglot",
    title="Omniglot, eight alphabets",
    repository="brendenlake/omniglot",
    commit="057f034baf2ecb8530bc5710e5a23584d2a519cc",
    licence="MIT",
    train=Half(classes=131, images=2620),
    test=Half(classes=111, images=2220),
    sha256="3769d719cf9c9d39b43d8beeff44bb8354bf5413ea42cc70bca9e3780ec3053b",
    use="data=table data.path={root}/table.csv",
    overlap=Overlap(
        level="categories",
        n_images=None,
        shared=(),
        source="ImageNet-1k has no category of characters; the drawings were made online for the set",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the drawings in order of path; a file is `part/alphabet/character/name`."""
    found: dict[Path, Path] = {}
    for part in PARTS:
        for path in sorted((repository / "python" / part).glob("*/*/*.png")):
            found.setdefault(path.relative_to(repository / "python" / part), path.relative_to(repository))
    learnt = half_by_kind({_label(path): path.parts[0] for path in found})
    planned = [_picture(path, source, learnt) for path, source in found.items()]
    return sorted(planned, key=lambda picture: picture.path)


def _label(path: Path) -> str:
    return f"{path.parts[0]} {path.parts[1].removeprefix('character')}"


def _picture(path: Path, source: Path, learnt: set[str]) -> Picture:
    label = _label(path)
    return Picture(
        source=source.as_posix(),
        path=f"images/{label}/{path.name}",
        label=label,
        split="train" if label in learnt else "test",
    )


if __name__ == "__main__":
    run(SET, pictures)
