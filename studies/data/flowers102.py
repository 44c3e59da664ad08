"""Oxford Flowers-102 for the studies: the pictures of the repository's three parts in one folder per class.

The first 51 classes, by their numbers, train and the others test.
"""

from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, Shared, files_below

N_TRAIN_CLASSES = 51
SET = PictureSet(
    name="flowers102",
    title="Flowers-102",
    repository="3ba2ii/Flower-Classifier",
    commit="e0447ae3a8e54baaa61061833afa4679e8a7f786",
    licence="research",
    train=Half(classes=51, images=3493),
    test=Half(classes=51, images=4696),
    sha256="b14bdfe9274b660637e54334ae4464aac37521089497f4c07588778b03721910",
    use="data=table data.path={root}/table.csv",
    overlap=Overlap(
        level="categories",
        n_images=None,
        shared=(Shared("49", "daisy"),),
        source="names of the categories of ImageNet-1k against those of the classes (49 is oxeye daisy)",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the pictures in order of path; a class is the number that its folder is called."""
    planned = [_picture(path) for path in files_below(repository / "flowers", ("train", "valid", "test"))]
    return sorted(planned, key=lambda picture: picture.path)


def _picture(path: Path) -> Picture:
    label = f"{int(path.parent.name):03}"
    return Picture(
        source=f"flowers/{path.as_posix()}",
        path=f"images/{label}/{path.name}",
        label=label,
        split="train" if int(label) <= N_TRAIN_CLASSES else "test",
    )


if __name__ == "__main__":
    run(SET, pictures)
