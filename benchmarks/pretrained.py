"""What ImageNet weights are worth before any training: the rows "pretrained" of the papers' tables, in kind.

Needs CUB-200-2011, which cannot be handed on: FAIRGROUND_CUB_FEATURES names an .npz file with `features` and `labels`
(0 to 199), FAIRGROUND_CUB_PHOTOS a folder of class folders named as in the original (`001.Black_footed_Albatross`).
What is not there is left out. By hand: `python -m benchmarks.pretrained --features FILE --photos FOLDER`.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmarks.harness import Table
from fairground.contracts import IMAGENET, Images, Preprocessing
from fairground.datasets.folder import FolderDataset
from fairground.evaluation import pretrained_embeddings
from fairground.evaluation.embed import embed
from fairground.evaluation.metric_scores import evaluate
from fairground.records.arrays import read_arrays
from fairground.transforms.plain import PlainTransform
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk

METRICS = ("recall@1", "map@r")
#: measured elsewhere with the same weights on all 5,924 images of the test half, from the full 1,280 features
EXPECTED = {"features as they are": ("57.7", "17.9"), "PCA to 512": ("57.7", "19.1"), "PCA to 128": ("56.9", "19.4")}
HEADER = ["embedding", "R@1", "MAP@R", "expected R@1", "expected MAP@R"]


def tables() -> Iterator[Table]:
    """Yield a table for each of the two sources that is there."""
    features, photographs = os.environ.get("FAIRGROUND_CUB_FEATURES"), os.environ.get("FAIRGROUND_CUB_PHOTOS")
    if features is None and photographs is None:
        print("left out: neither FAIRGROUND_CUB_FEATURES nor FAIRGROUND_CUB_PHOTOS is set", file=sys.stderr)
    if features is not None:
        yield features_table(Path(features))
    if photographs is not None:
        yield photographs_table(Path(photographs))


def features_table(path: Path) -> Table:
    """Return the test half's scores of ready-made features."""
    arrays = read_arrays(path, ("features", "labels"))
    is_test = arrays["labels"] >= 100
    features = torch.from_numpy(arrays["features"][is_test].astype(np.float32))
    labels = arrays["labels"][is_test]
    rows = []
    for name, embeddings in _embeddings(features):
        rows.append([name, *_scores(embeddings, labels), *EXPECTED[name.partition(",")[0]]])
    return Table(
        title="CUB-200-2011, test half, EfficientNet-Lite0 without training",
        note=f"{len(labels):,} images of classes 100 to 199; ready-made features of width {features.shape[1]}. PCA is "
        "fitted on the evaluated set, as Musgrave et al. did. The expected figures were measured on the network's own "
        "1,280 features; a file that keeps fewer dimensions need not agree to the tenth.",
        header=HEADER,
        rows=rows,
    )


def photographs_table(folder: Path) -> Table:
    """Return the scores of photographs seen through the network with the right and the wrong scaling."""
    trunk = EfficientnetLite0Trunk(channels=3)
    table = FolderDataset(root=str(folder)).load()
    rows = []
    for name, preprocessing in (("(x - 127) / 128, as declared", trunk.preprocessing), ("ImageNet's", IMAGENET)):
        features = _features(trunk, table.images, preprocessing)
        for part, (embedding, embeddings) in enumerate(_embeddings(features, dims=(128,))):
            scaling = name if part == 0 else ""
            rows.append([scaling, embedding, *_scores(embeddings, table.labels)])
    return Table(
        title="What the right scaling is worth",
        note=f"{len(table.labels)} photographs of {len(table.class_names)} classes, shorter side 256, central 224; "
        f"weights {trunk.weights_fingerprint[:15]}. Nine points of R@1 were lost on the whole test half.",
        header=["scaling of the pixels", "embedding", "R@1", "MAP@R"],
        rows=rows,
    )


def _features(trunk: EfficientnetLite0Trunk, images: Images, preprocessing: Preprocessing) -> Tensor:
    return embed(trunk, images, np.arange(len(images)), PlainTransform(preprocessing=preprocessing))


def _embeddings(features: Tensor, dims: tuple[int, ...] = (512, 128)) -> Iterator[tuple[str, Tensor]]:
    yield "features as they are", features
    for dim in dims:
        yield f"PCA to {dim}, standardised", pretrained_embeddings(features, dim=dim)
        yield f"PCA to {dim}, only centred", pretrained_embeddings(features, dim=dim, standardise=False)


def _scores(embeddings: Tensor, labels: np.ndarray) -> list[str]:
    found = evaluate(embeddings, labels, metrics=METRICS)
    return [f"{100 * found[metric]:.1f}" for metric in METRICS]


def main() -> None:
    """Print the tables of the files named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path, help="an .npz file of features and labels")
    parser.add_argument("--photos", type=Path, help="a folder of class folders")
    asked = parser.parse_args()
    if asked.features is None and asked.photos is None:
        parser.error("name a file of features, a folder of photographs, or both")
    if asked.features is not None:
        print(features_table(asked.features).markdown())
    if asked.photos is not None:
        print(photographs_table(asked.photos).markdown())


if __name__ == "__main__":
    main()
