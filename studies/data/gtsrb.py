"""German traffic signs (GTSRB) for the studies: four pictures of each track of the training part.

A track is one sign that a car approaches, 30 pictures which are nearly equal, so a track is a group: a query searches
other tracks only. Of every track the 8th, 15th, 22nd and 29th picture are taken. 21 of 43 classes train, in order of
the SHA-256 of their numbers, the others test.
"""

from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, digest, files_below

TAKEN = ("00007", "00014", "00021", "00028")
N_TRAIN_CLASSES = 21
SET = PictureSet(
    name="gtsrb",
    title="GTSRB",
    repository="hergerr/traffic-sign-recognition",
    commit="80c6270c952cb66ec6eda521911d5cd992788333",
    licence="research",
    train=Half(classes=21, images=2780),
    test=Half(classes=22, images=2448),
    sha256="6d696958b9551e6ebad989e04d35562fb61ffee1c89fd87e299c06806667684a",
    use="data=table data.path={root}/table.csv",
    overlap=Overlap(
        level="categories",
        n_images=None,
        shared=(),
        source="ImageNet-1k has a category of street signs, which none of the classes is",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the chosen pictures in order of path; a file is called `<track>_<number>.ppm`."""
    found = files_below(repository / "GTSRB" / "Final_Training", ("Images",), suffix=".ppm")
    learnt = set(sorted({path.parent.name for path in found}, key=digest)[:N_TRAIN_CLASSES])
    return [_picture(path, learnt) for path in found if path.stem.split("_")[1] in TAKEN]


def _picture(path: Path, learnt: set[str]) -> Picture:
    label, track = path.parent.name, path.stem.split("_")[0]
    return Picture(
        source=f"GTSRB/Final_Training/{path.as_posix()}",
        path=f"images/{label}/{path.name}",
        label=label,
        split="train" if label in learnt else "test",
        group=f"{label} {track}",
    )


if __name__ == "__main__":
    run(SET, pictures)
