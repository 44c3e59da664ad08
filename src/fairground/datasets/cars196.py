"""Cars196: 16,185 photographs of 196 models of cars; the first 98 models train, the others test.

Formula
    the n-th class is number n in `cars_annos.mat`, or the n-th class folder in order of name
    test half = classes 99..196: 8,131 images; 8,054 images of the others

Paper
    Krause, Stark, Deng and Fei-Fei, "3D Object Representations for Fine-Grained Categorization", ICCV workshops 2013;
    halved by class since Song, Xiang, Jegelka and Savarese, CVPR 2016.

Departures from the paper
    The data set's own division of every class (`test` in `cars_annos.mat`) is for classification and is not used.
"""

from pathlib import Path
from typing import Any

import numpy as np

from fairground.contracts.table import ImageTable, require
from fairground.errors import DataError
from fairground.loading.class_folders import class_folders, sub_folders
from fairground.loading.image_dataset import OfficialDataset, class_folder_table, first_with, photo_table
from fairground.spec.declarations import Counts

SOURCE = (
    "Cars196 is the 'Stanford Cars Dataset' of the Stanford AI Lab: give the folder that has cars_annos.mat and "
    "car_ims/"
)


class Cars196Dataset(OfficialDataset):
    """`root` has `cars_annos.mat` beside `car_ims/`, or a folder for each class, perhaps in `images/`.

    `prepared` is the shorter side of images prepared once, 0 to decode them whenever asked; `draft` shrinks JPEGs while
    decoding, faster and a little different. `subset` takes a part of the data set for what it is; by class folders its
    first half trains, since folders have no number.
    """

    title = "Cars196"
    source = SOURCE
    official = Counts(train_classes=98, train_images=8054, test_classes=98, test_images=8131)

    def find(self, root: Path) -> ImageTable:
        listed = first_with([root, root / "devkit"], "cars_annos.mat")
        return _by_annotations(root, listed / "cars_annos.mat") if listed is not None else _by_folders(root)


def _by_annotations(root: Path, path: Path) -> ImageTable:
    content = _read_matlab(path)
    require(
        "annotations" in content and {"relative_im_path", "class"} <= set(content["annotations"].dtype.names or ()),
        f"{path} has no annotations with relative_im_path and class: it is not the cars_annos.mat of Cars196",
        DataError,
    )
    rows = np.atleast_1d(content["annotations"])
    names = [str(name) for name in np.atleast_1d(content["class_names"])] if "class_names" in content else []
    numbers = np.array([int(row["class"]) for row in rows], dtype=np.int64)
    kept, labels = np.unique(numbers, return_inverse=True)
    require(
        not names or (numbers.min() >= 1 and numbers.max() <= len(names)),
        f"{path}: classes must be 1..{len(names)}; got {numbers.min()}..{numbers.max()}",
        DataError,
    )
    return photo_table(
        root,
        [str(row["relative_im_path"]) for row in rows],
        labels,
        class_names=tuple(names[number - 1] if names else f"class {number}" for number in kept),
        official_test=numbers > Cars196Dataset.official.train_classes,
    )


def _by_folders(root: Path) -> ImageTable:
    folder = next((place for place in (root / "images", root) if place.is_dir() and sub_folders(place)), root)
    found = class_folders(folder)
    require(
        len(found.paths) > 0, f"cars196.root: no cars_annos.mat and no class folders in {root}. {SOURCE}", DataError
    )
    n_train = min(Cars196Dataset.official.train_classes, (len(found.names) + 1) // 2)
    return class_folder_table(folder, found, official_test=found.labels >= n_train)


def _read_matlab(path: Path) -> dict[str, Any]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    try:
        content: dict[str, Any] = loadmat(str(path), squeeze_me=True, struct_as_record=True)
    except (OSError, ValueError, TypeError, MatReadError, NotImplementedError) as error:
        raise DataError(f"{path} is not a readable MATLAB file: {error}") from error
    return content
