"""The images of a data set whose labels are suspect, named and with pictures to look at."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from fairground.audit.image_scan import Progress
from fairground.audit.label_errors import suspect_labels
from fairground.contracts.dataset import Dataset
from fairground.contracts.table import Images, ImageTable
from fairground.evaluation.embed import embed_blocks
from fairground.loading.image_dataset import PhotoDataset
from fairground.transforms.plain import PlainTransform
from fairground.trunks.efficientnet_lite0 import EfficientnetLite0Trunk

#: images of one size up to so many pixels a side are compared by their pixels: photographs are larger
_SMALL = 48


@dataclass(frozen=True, kw_only=True)
class LabelSuspect:
    """`suspicion` is how much nearer the class `suggested` is than the image's own, out of fold; higher is worse."""

    row: int
    name: str
    label: str
    suggested: str
    suspicion: float


#: share of suspects above which the features, not the labels, are what is wrong
_MOST = 0.3


def weakness(n_suspects: int, n_images: int) -> str:
    """Say where suspects mean little, because the features cannot tell the classes apart; empty otherwise."""
    if n_images == 0 or n_suspects <= _MOST * n_images:
        return ""
    share = 100 * (1 - n_suspects / n_images)
    return f"only {share:.0f} % of images lie nearest to their own class, so being suspect says little here"


def readable_table(dataset: Dataset, faults: Sequence[int]) -> tuple[ImageTable, np.ndarray]:
    """Return the table of a data set and the rows of it that can be read."""
    table = dataset.photos().table() if isinstance(dataset, PhotoDataset) else dataset.load()
    return table, np.setdiff1d(np.arange(len(table.labels)), np.array(list(faults), np.int64))


def label_suspects(
    table: ImageTable, rows: np.ndarray, progress: Progress = lambda *_: None
) -> tuple[LabelSuspect, ...]:
    """Return the images that lie nearer to another class than to their own, most suspect first."""
    found = suspect_labels(features_of(table.images, rows, progress), table.labels[rows])
    names = table.identifiers or tuple(f"row {row}" for row in range(len(table.labels)))
    return tuple(
        LabelSuspect(
            row=int(rows[place]),
            name=names[rows[place]],
            label=table.class_names[table.labels[rows[place]]],
            suggested=table.class_names[found.suggested[place]],
            suspicion=float(found.scores[place]),
        )
        for place in found.order()
    )


def features_of(images: Images, rows: np.ndarray, progress: Progress = lambda *_: None) -> np.ndarray:
    """Return what labels are judged by: features as they are, pixels of small images, or a pretrained network's."""
    if not images.is_picture:
        return images.take(rows).numpy().astype(np.float32)
    sizes = images.sizes(rows)
    if len(np.unique(sizes, axis=0)) == 1 and int(sizes[0].max()) <= _SMALL:
        return images.take(rows).numpy().reshape(len(rows), -1)
    trunk = EfficientnetLite0Trunk(channels=images.channels)
    transform = PlainTransform(preprocessing=trunk.preprocessing)
    blocks = []
    for block in embed_blocks(trunk, images, rows, transform, device=torch.device("cpu")):
        blocks.append(block.numpy())
        progress(sum(len(one) for one in blocks), len(rows))
    return np.concatenate(blocks)
