"""How large a published data set is."""

from typing import NamedTuple


class Counts(NamedTuple):
    """How many classes and images the two halves of a data set have, written at it as literals."""

    train_classes: int
    train_images: int
    test_classes: int
    test_images: int
