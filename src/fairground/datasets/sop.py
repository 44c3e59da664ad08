"""Stanford Online Products: 120,053 photographs of 22,634 products in 12 super-classes, from an online shop.

Formula
    train = `Ebay_train.txt`: classes 1..11318, 59,551 images; test = `Ebay_test.txt`: classes 11319..22634, 60,502

Paper
    Song, Xiang, Jegelka and Savarese, "Deep Metric Learning via Lifted Structured Feature Embedding", CVPR 2016.

Departures from the paper
    None. Split mlrc_folds halves by position of class instead, which moves one class to the test half.
"""

from pathlib import Path

import numpy as np

from fairground.contracts.dataset import DataError, ImageTable
from fairground.loading.image_dataset import OfficialDataset, first_with, integers, photo_table, read_words
from fairground.spec.declarations import Counts


class SopDataset(OfficialDataset):
    """`root` has the lists, itself or in `Info_Files/`, and the folders of images, itself or in `images/`."""

    title = "Stanford Online Products"
    source = (
        "Stanford Online Products is on the page 'Deep Metric Learning via Lifted Structured Feature Embedding' of the "
        "Stanford Computational Vision and Geometry Lab: give the folder Stanford_Online_Products, which has "
        "Ebay_train.txt; `fairground data get sop` fetches it"
    )
    official = Counts(train_classes=11318, train_images=59551, test_classes=11316, test_images=60502)

    def find(self, root: Path) -> ImageTable:
        inner = root / "Stanford_Online_Products"
        lists = first_with([root, root / "Info_Files", inner, inner / "Info_Files"], "Ebay_train.txt")
        if lists is None:
            raise DataError(f"sop.root: no Ebay_train.txt in {root} or its Info_Files. {self.source}")
        home = lists.parent if lists.name == "Info_Files" else lists
        halves = [read_words(lists / f"Ebay_{half}.txt", n_words=4, header=1) for half in ("train", "test")]
        rows = [row for half in halves for row in half]
        numbers = integers(lists / "Ebay_train.txt", [row[1] for row in rows])
        supers = integers(lists / "Ebay_train.txt", [row[2] for row in rows])
        kept, first, labels = np.unique(numbers, return_index=True, return_inverse=True)
        paths = [row[3] for row in rows]
        kinds = [paths[row].partition("/")[0].removesuffix("_final") for row in first]
        return photo_table(
            first_with([home, home / "images"], paths[0] if paths else "") or home,
            paths,
            labels,
            class_names=tuple(f"{kind} {number}" for kind, number in zip(kinds, kept, strict=True)),
            official_test=np.arange(len(rows)) >= len(halves[0]),
            super_labels=supers - 1,
        )
