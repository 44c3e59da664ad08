"""In-Shop Clothes: 52,712 photographs of 7,982 garments; at the end queries search a gallery.

Formula
    `list_eval_partition.txt` says of every image: train (3,997 garments, 25,882 images), query (14,218 images) or
    gallery (12,612 images), both of the same 3,985 other garments

Paper
    Liu, Luo, Qiu, Wang and Tang, "DeepFashion: Powering Robust Clothes Recognition and Retrieval with Rich
    Annotations", CVPR 2016.

Departures from the paper
    Garments are found whole; the bounding boxes that come with the data are not used.
"""

from pathlib import Path

import numpy as np

from fairground.contracts.dataset import DataError, ImageTable, require
from fairground.loading.image_dataset import OfficialDataset, first_with, photo_table, read_words
from fairground.spec.declarations import Counts

N_QUERIES = 14218
LIST = "list_eval_partition.txt"


class InShopDataset(OfficialDataset):
    """`root` has `list_eval_partition.txt`, itself or in `Eval/` or `Anno/`, and `img/`, itself or in `Img/`."""

    title = "In-Shop Clothes"
    source = (
        "In-Shop Clothes Retrieval is a benchmark of DeepFashion, on that project's page of the Multimedia Laboratory, "
        f"The Chinese University of Hong Kong: give the folder with Eval/{LIST} and Img/img/; `fairground data get "
        "in_shop` says how"
    )
    official = Counts(train_classes=3997, train_images=25882, test_classes=3985, test_images=26830)

    def find(self, root: Path) -> ImageTable:
        listed = first_with([root, root / "Eval", root / "Anno"], LIST)
        if listed is None:
            raise DataError(f"in_shop.root: no {LIST} in {root} or its Eval or Anno. {self.source}")
        rows = read_words(listed / LIST, n_words=3, header=2)
        status = np.array([row[2] for row in rows])
        strange = sorted(set(status.tolist()) - {"train", "query", "gallery"})
        complaint = f"{listed / LIST}: an image is train, query or gallery; got '{''.join(strange[:1])}'"
        require(not strange, complaint, DataError)
        n_queries = int((status == "query").sum())
        told = f"In-Shop Clothes has {N_QUERIES} queries; this copy lists {n_queries}"
        advice = "Set data.subset=true if this is a part of it on purpose"
        require(self.subset or n_queries == N_QUERIES, f"{told}. {advice}", DataError)
        names, labels = np.unique([row[1] for row in rows], return_inverse=True)
        paths = [row[0] for row in rows]
        # The list says img/...; the archive of images unpacks to img/ as well, often inside a folder Img/.
        places = [root, root / "Img", listed, root / "Img" / "img"]
        return photo_table(
            first_with(places, paths[0] if paths else "") or root,
            paths,
            labels,
            class_names=tuple(names.tolist()),
            official_test=status != "train",
            is_query=status == "query",
            is_gallery=status == "gallery",
        )
