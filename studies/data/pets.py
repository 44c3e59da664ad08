"""Oxford-IIIT Pet for the studies: 37 breeds, cats and dogs in both halves.

Cats are spelt with a capital letter and would all come first in order of name, so that the second half would be dogs
only. Instead half of the cats and half of the dogs train, in order of the SHA-256 of the name of the breed; of an odd
number the larger part tests.
"""

from pathlib import Path

from layout import run
from picture_set import Half, Overlap, Picture, PictureSet, Shared, digest

SET = PictureSet(
    name="pets",
    title="Oxford-IIIT Pet",
    repository="ml4py/dataset-iiit-pet",
    commit="ebb5f9e482d0597e7eb4a92f24c7275e83b96140",
    licence="research",
    train=Half(classes=18, images=3599),
    test=Half(classes=19, images=3791),
    sha256="f48e1c637550274eb40e51fa3307d4a1755dfd6e35ba7308850588e366cea74e",
    use="data=table data.path={root}/table.csv",
    overlap=Overlap(
        level="classes",
        n_images=None,
        shared=(
            Shared("Egyptian_Mau", "Egyptian cat"),
            Shared("Persian", "Persian cat"),
            Shared("Siamese", "Siamese cat"),
            Shared("american_pit_bull_terrier", "American Staffordshire terrier"),
            Shared("basset_hound", "basset"),
            Shared("beagle", "beagle"),
            Shared("boxer", "boxer"),
            Shared("chihuahua", "Chihuahua"),
            Shared("english_cocker_spaniel", "cocker spaniel"),
            Shared("english_setter", "English setter"),
            Shared("german_shorthaired", "German short-haired pointer"),
            Shared("great_pyrenees", "Great Pyrenees"),
            Shared("japanese_chin", "Japanese spaniel"),
            Shared("keeshond", "keeshond"),
            Shared("leonberger", "Leonberg"),
            Shared("miniature_pinscher", "miniature pinscher"),
            Shared("newfoundland", "Newfoundland"),
            Shared("pomeranian", "Pomeranian"),
            Shared("pug", "pug"),
            Shared("saint_bernard", "Saint Bernard"),
            Shared("samoyed", "Samoyed"),
            Shared("scottish_terrier", "Scotch terrier"),
            Shared("staffordshire_bull_terrier", "Staffordshire bullterrier"),
            Shared("wheaten_terrier", "soft-coated wheaten terrier"),
            Shared("yorkshire_terrier", "Yorkshire terrier"),
        ),
        source="names of the categories of ImageNet-1k against those of the breeds",
    ),
)


def pictures(repository: Path) -> list[Picture]:
    """Return the pictures in order of path; a file is called `<breed>_<number>.jpg`."""
    files = sorted(path.name for path in (repository / "images").glob("*_*.jpg"))
    breeds = {name.rpartition("_")[0] for name in files}
    learnt = training_half({breed for breed in breeds if breed[0].isupper()})
    learnt |= training_half({breed for breed in breeds if not breed[0].isupper()})
    planned = [_picture(name, learnt) for name in files]
    return sorted(planned, key=lambda picture: picture.path)


def training_half(breeds: set[str]) -> set[str]:
    """Return half of the breeds of one animal, in order of hash."""
    return set(sorted(breeds, key=digest)[: len(breeds) // 2])


def _picture(name: str, learnt: set[str]) -> Picture:
    breed = name.rpartition("_")[0]
    return Picture(
        source=f"images/{name}",
        path=f"images/{breed}/{name}",
        label=breed,
        split="train" if breed in learnt else "test",
    )


if __name__ == "__main__":
    run(SET, pictures)
