"""A first look at a data set, as plain numbers: what a choice of split, network and protocol rests on."""

from dataclasses import dataclass

import numpy as np

from fairground.spec.run import ComponentSpec
from fairground.training.build import build_dataset

#: images whose sizes are asked
_LOOKED_AT = 512


@dataclass(frozen=True, kw_only=True)
class DatasetProfile:
    """`class_sizes` are the images of every class; `shorter_side` is the median, 0 for features.

    `width` is the number of channels, or of features. `lists_parts` says that the data names its own test part.
    """

    n_images: int
    class_sizes: tuple[int, ...]
    is_picture: bool
    width: int
    shorter_side: int
    is_one_size: bool
    lists_parts: bool
    has_test_half: bool


def profile_dataset(data: ComponentSpec) -> DatasetProfile:
    """Return what is to be seen without opening every image."""
    table = build_dataset(data).load()
    images = table.images
    some = np.unique(np.linspace(0, len(images) - 1, min(len(images), _LOOKED_AT)).astype(np.int64))
    sizes = images.sizes(some) if images.is_picture else np.zeros((1, 2), np.int64)
    counts = np.bincount(table.labels)
    return DatasetProfile(
        n_images=len(table.labels),
        class_sizes=tuple(int(count) for count in counts[counts > 0]),
        is_picture=images.is_picture,
        width=images.channels,
        shorter_side=int(np.median(sizes.min(axis=1))),
        is_one_size=bool((sizes == sizes[0]).all()),
        lists_parts=table.listed_parts is not None,
        has_test_half=table.official_test is not None,
    )
