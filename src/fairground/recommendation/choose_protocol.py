"""Protocol and split of a recommendation, chosen by the size of the images and the number of classes."""

from collections.abc import Sequence
from typing import Literal

from fairground.errors import DataError, require
from fairground.spec import Value

#: fewer classes cannot be divided into two that train, two that validate and as many that test
LEAST_CLASSES = 8
#: up to this shorter side a small network trained from scratch does better than a large pretrained one
SMALL_SIDE = 64
#: below this many seconds small images get a network of a seventh of the cost
SHORT = 750
Kind = Literal["features", "photographs", "laptop"]


def choose_split(
    class_sizes: Sequence[int], *, lists_parts: bool, has_test_half: bool, seed: int
) -> tuple[dict[str, Value], str]:
    """Return a split in which no class is in two parts, and a sentence; refuse data that has too few classes."""
    n, several = len(class_sizes), sum(size > 1 for size in class_sizes)
    require(n > 1, "all images are of one class, so there is nothing to tell apart: put each class into its own folder")
    require(
        several > 0,
        f"each of the {n} classes has one image only, so nothing could be found again: collect two or more images of "
        "a class, four or more if possible",
        DataError,
    )
    if lists_parts:
        return {"split": "listed"}, "Your own list of parts is kept; no class is in two of them."
    require(
        several >= LEAST_CLASSES,
        f"a model is judged on classes it has never seen, which takes at least {LEAST_CLASSES} classes of two images "
        f"or more: two to train on, two to choose by, four to test. The data has {several}: add classes, or divide the "
        "ones there are more finely",
        DataError,
    )
    test = "the data set's own test half" if has_test_half else f"half of the classes, drawn by seed {seed},"
    sealed = f"{test} tests, sealed until a method is chosen"
    others = "the others train and validate in turn, in folds of classes"
    return {"split": "random_halves", "split.seed": seed}, f"No class is in two parts: {sealed}; {others}."


def choose_protocol(
    *, is_picture: bool, width: int, shorter_side: int, is_one_size: bool, seconds: float, protocol: str | None = None
) -> tuple[Kind, dict[str, Value], str]:
    """Return the protocol for data of this kind and size and for so many seconds, its overrides, and a sentence.

    Images have two; the user may ask for one of them.
    """
    kinds = ("laptop", "photographs") if is_picture else ("features",)
    is_possible = protocol is None or protocol in kinds
    require(is_possible, f"--protocol for this data is {' or '.join(kinds)}; got '{protocol}'")
    if not is_picture:
        ways = "as they are, with discriminants, on principal axes, then heads trained on them"
        return "features", {}, f"Ready-made features of {width} numbers: {ways}."
    if protocol == "laptop" or (protocol is None and shorter_side <= SMALL_SIDE):
        size, trunk = "a small network", "small_conv"
        if seconds < SHORT:
            size, trunk = "a very small network, so that many trainings fit the time,", "folded_conv"
        overrides: dict[str, Value] = {"data.prepared": max(16, shorter_side), "trunk": trunk}
        if not is_one_size:
            overrides |= {"transform": "mlrc2020", "transform.side": max(16, shorter_side // 16 * 16)}
        way = f"{size} is trained from scratch ({trunk}); a large pretrained one would see too few pixels"
        return "laptop", overrides, f"Images of about {shorter_side} pixels: {way}."
    optimiser: dict[str, Value] = {"optimiser.name": "adam", "optimiser.weight_decay": 0.0}
    ways = "first, then heads on its features, then its last stages as far as the time allows"
    way = f"a pretrained network embeds each once. The frozen network comes {ways}"
    overrides = {"data.prepared": 0, "training.batch_size": 128, **optimiser}
    return "photographs", overrides, f"Photographs of about {shorter_side} pixels: {way}."
