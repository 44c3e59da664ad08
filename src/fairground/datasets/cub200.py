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

from fairground.contracts.dataset import DataError, ImageTable, require
from fairground.loading import OfficialDataset
from fairground.loading import image_dataset as photos
from fairground.spec.declarations import Counts


class Cub200Dataset(OfficialDataset):
    """`root` is the folder CUB_200_2011 or the one it is in; `images/<class>/` without the lists will do."""

    title = "CUB-200-2011"
    source = (
        "CUB-200-2011 is at the Caltech Vision Lab's page 'Perona Lab - CUB-200-2011': unpack CUB_200_2011.tgz and "
        "give the folder CUB_200_2011, which has images.txt and images/; `fairground data get cub200` fetches it"
    )
    official = Counts(train_classes=100, train_images=5864, test_classes=100, test_images=5924)

    def find(self, root: Path) -> ImageTable:
        listed = photos.first_with([root, root / "CUB_200_2011"], "images.txt")
        if listed is not None:
            return self._by_lists(listed)
        folder, found = self.class_folders([root / "images", root / "CUB_200_2011" / "images", root], "images.txt")
        strange = [name for name in found.names if not re.match(r"\d{3}\.", name)]
        told = "class folders of CUB-200-2011 begin with their number, like '001.Black_footed_Albatross'"
        got = f"{folder} has '{''.join(strange[:1])}'. For folders of your own say data=folder"
        require(not strange, f"{told}; {got}", DataError)
        numbers = np.array([int(name[:3]) for name in found.names])[found.labels]
        return photos.class_folder_table(folder, found, official_test=numbers > self.official.train_classes)

    def _by_lists(self, folder: Path) -> ImageTable:
        images, labelled, classes = (
            photos.read_words(folder / f"{name}.txt", n_words=2) for name in ("images", "image_class_labels", "classes")
        )
        class_of_image, name_of_class = dict(labelled), dict(classes)
        unlabelled = [image for image, _ in images if class_of_image.get(image) not in name_of_class]
        told = f"{len(unlabelled)} images of images.txt have no class in image_class_labels.txt and classes.txt"
        require(not unlabelled, f"{folder}: {told}; the first is number {unlabelled[:1]}", DataError)
        numbers = photos.integers(folder / "image_class_labels.txt", [class_of_image[image] for image, _ in images])
        kept, labels = np.unique(numbers, return_inverse=True)
        return photos.photo_table(
            folder / "images",
            [path for _, path in images],
            labels,
            class_names=tuple(name_of_class[str(number)] for number in kept),
            official_test=numbers > self.official.train_classes,
        )
