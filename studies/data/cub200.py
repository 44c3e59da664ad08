"""CUB-200-2011 for the studies: the pictures of the repository's `train` and `test` in one folder per class.

The repository divides every class, for classification. Here the first 100 classes train and the others test.
"""

from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, Shared, files_below

from fairground.errors import DataError, require

N_TRAIN_CLASSES = 100
SET = PictureSet(
    name="cub200",
    title="CUB-200-2011",
    repository="cyizhuo/CUB-200-2011-dataset",
    commit="fa5c1b77aebf834bb8de46a3015f8215cc25ed29",
    licence="non-commercial research and education",
    train=Half(classes=100, images=5864),
    test=Half(classes=100, images=5924),
    sha256="ea7cb94e35cef3ddec63439668b227f5889ddff5d98ddaddfa8638295dda5b7e",
    use="data=cub200 data.root={root}",
    overlap=Overlap(
        level="images",
        n_images=22,
        shared=(
            Shared("014.Indigo_Bunting", "indigo bunting"),
            Shared("048.European_Goldfinch", "goldfinch"),
            Shared("090.Red_breasted_Merganser", "red-breasted merganser"),
        ),
        source="Jaderberg, Simonyan, Zisserman and Kavukcuoglu, Spatial Transformer Networks, NIPS 2015: 22 of the "
        "5,794 pictures that test classifiers of CUB-200-2011 are in the training set of ImageNet",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the pictures in order of path; a class is numbered by the three digits its folder begins with."""
    planned = [_picture(path) for path in files_below(repository, ("train", "test"))]
    return sorted(planned, key=lambda picture: picture.path)


def _picture(path: Path) -> Picture:
    label = path.parent.name
    require(
        label[:3].isdigit(),
        f"a class folder of CUB-200-2011 must begin with three digits, as in 001.Black_footed_Albatross; got '{label}'",
        DataError,
    )
    return Picture(
        source=path.as_posix(),
        path=f"images/{label}/{path.name}",
        label=label,
        split="train" if int(label[:3]) <= N_TRAIN_CLASSES else "test",
    )


if __name__ == "__main__":
    run(SET, pictures)
