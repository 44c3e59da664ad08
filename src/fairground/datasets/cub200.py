"""CUB-200-2011: 11,788 photographs of 200 kinds of birds; the first 100 kinds train, the others test.

Formula
    the n-th class is the one numbered n in `classes.txt`, or by the digits its folder's name begins with
    test half = classes 101..200: 5,924 images; 5,864 images of the others

Paper
    Wah, Branson, Welinder, Perona and Belongie, "The Caltech-UCSD Birds-200-2011 Dataset", 2011; halved by class since
    Song, Xiang, Jegelka and Savarese, CVPR 2016.

Departures from the paper
    The data set's own division of every class (`train_test_split.txt`) is for classification and is not used.
"""

import re
from pathlib import Path

import numpy as np

from fairground.contracts.table import ImageTable, require
from fairground.errors import DataError
from fairground.loading.class_folders import class_folders, sub_folders
from fairground.loading.image_dataset import (
    OfficialDataset,
    class_folder_table,
    first_with,
    integers,
    photo_table,
    read_words,
)
from fairground.spec.declarations import Counts

SOURCE = (
    "CUB-200-2011 is at the Caltech Vision Lab's page 'Perona Lab - CUB-200-2011': unpack CUB_200_2011.tgz and give "
    "the folder CUB_200_2011, which has images.txt and images/"
)
_NUMBERED = re.compile(r"\d{3}\.")


class Cub200Dataset(OfficialDataset):
    """`root` is the folder CUB_200_2011 or the one it is in; `images/<class>/` without the lists will do.

    `prepared` is the shorter side of images prepared once, 0 to decode them whenever asked; `draft` shrinks JPEGs while
    decoding, faster and a little different. `subset` takes a part of the data set for what it is.
    """

    title = "CUB-200-2011"
    source = SOURCE
    official = Counts(train_classes=100, train_images=5864, test_classes=100, test_images=5924)

    def find(self, root: Path) -> ImageTable:
        listed = first_with([root, root / "CUB_200_2011"], "images.txt")
        return _by_lists(listed) if listed is not None else _by_folders(root)


def _by_lists(folder: Path) -> ImageTable:
    lists = {
        name: read_words(folder / f"{name}.txt", n_words=2) for name in ("images", "image_class_labels", "classes")
    }
    class_of_image = dict(lists["image_class_labels"])
    name_of_class = dict(lists["classes"])
    unlabelled = [image for image, _ in lists["images"] if class_of_image.get(image) not in name_of_class]
    require(
        not unlabelled,
        f"{folder}: {len(unlabelled)} images of images.txt have no class in image_class_labels.txt and classes.txt; "
        f"the first is number {unlabelled[:1]}",
        DataError,
    )
    numbers = integers(folder / "image_class_labels.txt", [class_of_image[image] for image, _ in lists["images"]])
    kept, labels = np.unique(numbers, return_inverse=True)
    return photo_table(
        folder / "images",
        [path for _, path in lists["images"]],
        labels,
        class_names=tuple(name_of_class[str(number)] for number in kept),
        official_test=numbers > Cub200Dataset.official.train_classes,
    )


def _by_folders(root: Path) -> ImageTable:
    places = [root / "images", root / "CUB_200_2011" / "images", root]
    folder = next((place for place in places if place.is_dir() and sub_folders(place)), root)
    found = class_folders(folder)
    require(len(found.paths) > 0, f"cub200.root: no images.txt and no class folders in {root}. {SOURCE}", DataError)
    strange = [name for name in found.names if not _NUMBERED.match(name)]
    require(
        not strange,
        f"class folders of CUB-200-2011 begin with their number, like '001.Black_footed_Albatross'; {folder} has "
        f"'{''.join(strange[:1])}'. For folders of your own say data=folder",
        DataError,
    )
    numbers = np.array([int(name[:3]) for name in found.names])[found.labels]
    return class_folder_table(folder, found, official_test=numbers > Cub200Dataset.official.train_classes)
