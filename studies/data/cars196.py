"""Cars196 for the studies: the pictures of the repository's `train` and `test` in one folder per class.

The repository divides every class, for classification. Here the first half of the classes in order of name trains, as
in the official list, and the other half tests. Fifteen pictures of about 4 MiB and more are left out even where they
are there: some copies of the repository lack such files, and a study must see the same pictures everywhere.
"""

from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, Shared, files_below

#: the large pictures; no two pictures of the set have one name
LEFT_OUT = frozenset(
    {
        "002411.jpg",
        "002419.jpg",
        "002737.jpg",
        "002904.jpg",
        "004907.jpg",
        "005075.jpg",
        "009117.jpg",
        "010425.jpg",
        "011608.jpg",
        "012010.jpg",
        "012098.jpg",
        "012218.jpg",
        "013796.jpg",
        "014001.jpg",
        "014735.jpg",
    }
)
SET = PictureSet(
    name="cars196",
    title="Cars196",
    repository="cyizhuo/Stanford-Cars-dataset",
    commit="60e19d3521b11128c6f840c3055de436ce09c038",
    licence="non-commercial research",
    train=Half(classes=98, images=8048),
    test=Half(classes=98, images=8122),
    sha256="b4d0329fe8ff225c4548a900a375df7dab8d6c6536429c647a318480d1fc8b87",
    use="data=cars196 data.root={root} data.subset=true",
    overlap=Overlap(
        level="categories",
        n_images=None,
        shared=(
            Shared("Cab", "pickup"),
            Shared("Convertible", "convertible"),
            Shared("Ferrari", "sports car"),
            Shared("Jeep", "jeep"),
            Shared("Minivan", "minivan"),
            Shared("Wagon", "beach wagon"),
        ),
        source="names of the categories of ImageNet-1k against those of the classes",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the pictures in order of path."""
    found = [path for path in files_below(repository, ("train", "test")) if path.name not in LEFT_OUT]
    labels = sorted({path.parent.name for path in found})
    learnt = set(labels[: len(labels) // 2])
    planned = [
        Picture(
            source=path.as_posix(),
            path=f"images/{path.parent.name}/{path.name}",
            label=path.parent.name,
            split="train" if path.parent.name in learnt else "test",
        )
        for path in found
    ]
    return sorted(planned, key=lambda picture: picture.path)


if __name__ == "__main__":
    run(SET, pictures)
