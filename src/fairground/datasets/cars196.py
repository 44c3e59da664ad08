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

import numpy as np

from fairground.contracts.dataset import DataError, ImageTable, require
from fairground.loading.image_dataset import OfficialDataset, class_folder_table, first_with, photo_table
from fairground.spec.declarations import Counts


class Cars196Dataset(OfficialDataset):
    """`root` has `cars_annos.mat` beside `car_ims/`, or a folder for each class, perhaps in `images/`.

    By class folders the first half of a `subset` trains, since folders have no number.
    """

    title = "Cars196"
    source = (
        "Cars196 is the 'Stanford Cars Dataset' of the Stanford AI Lab: give the folder that has cars_annos.mat and "
        "car_ims/; `fairground data get cars196` fetches it"
    )
    official = Counts(train_classes=98, train_images=8054, test_classes=98, test_images=8131)

    def find(self, root: Path) -> ImageTable:
        listed = first_with([root, root / "devkit"], "cars_annos.mat")
        if listed is not None:
            return self._by_annotations(root, listed / "cars_annos.mat")
        folder, found = self.class_folders([root / "images", root], "cars_annos.mat")
        n_train = min(self.official.train_classes, (len(found.names) + 1) // 2)
        return class_folder_table(folder, found, official_test=found.labels >= n_train)

    def _by_annotations(self, root: Path, path: Path) -> ImageTable:
        from scipy.io import loadmat
        from scipy.io.matlab import MatReadError

        try:
            content = loadmat(str(path), squeeze_me=True, struct_as_record=True)
        except (OSError, ValueError, TypeError, MatReadError, NotImplementedError) as error:
            raise DataError(f"{path} is not a readable MATLAB file: {error}") from error
        rows = np.atleast_1d(content.get("annotations", 0))
        refusal = f"{path} has no annotations with relative_im_path and class: it is not the cars_annos.mat of Cars196"
        require({"relative_im_path", "class"} <= set(rows.dtype.names or ()), refusal, DataError)
        names = [str(name) for name in np.atleast_1d(content["class_names"])] if "class_names" in content else []
        numbers = np.array([int(row["class"]) for row in rows], dtype=np.int64)
        kept, labels = np.unique(numbers, return_inverse=True)
        refusal = f"{path}: classes must be 1..{len(names)}; got {numbers.min()}..{numbers.max()}"
        require(not names or (numbers.min() >= 1 and numbers.max() <= len(names)), refusal, DataError)
        return photo_table(
            root,
            [str(row["relative_im_path"]) for row in rows],
            labels,
            class_names=tuple(names[number - 1] if names else f"class {number}" for number in kept),
            official_test=numbers > self.official.train_classes,
        )
