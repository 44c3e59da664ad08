"""Which split, network and protocol suit a data set and a machine, and why, in a sentence each."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairground.errors import DataError, require
from fairground.spec.study import MethodSpec

#: fewer classes cannot be divided into two that train, two that validate and as many that test
LEAST_CLASSES = 8
#: up to this shorter side a small network trained from nothing does better than a large pretrained one
SMALL_SIDE = 64
#: small images are folded, for a seventh of the cost, when all workers together have less than this many seconds
SHORT = 1500
#: as many validation classes as rank methods like other classes do, and the share taken where there are fewer
ENOUGH_VALIDATION, USUAL, LARGE = 50, 0.2, 0.4
PER_CLASS = 4


@dataclass(frozen=True, kw_only=True)
class SplitChoice:
    """How the classes are divided: the override words, and what to tell the user."""

    words: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class ProtocolChoice:
    """What is raced under: the field by its study's name, words for every run, and networks that are not trained."""

    field: str
    words: tuple[str, ...]
    baselines: tuple[MethodSpec, ...]
    sentence: str


def choose_split(class_sizes: Sequence[int], *, lists_parts: bool, has_test_half: bool) -> SplitChoice:
    """Return a split in which no class is in two parts, or refuse data that has too few classes for one."""
    n, several = len(class_sizes), sum(size > 1 for size in class_sizes)
    require(n > 1, "all images are of one class, so there is nothing to tell apart: put each class into its own folder")
    require(
        several > 0,
        f"each of the {n} classes has one image only, so nothing could be found again: collect two or more images of "
        "a class, four or more if possible",
        DataError,
    )
    if lists_parts:
        return SplitChoice(
            words=("split=listed",), sentence="Your own list of parts is kept; no class is in two of them."
        )
    require(
        several >= LEAST_CLASSES,
        f"a model is judged on classes it has never seen, which takes at least {LEAST_CLASSES} classes of two images "
        f"or more: two to train on, two to choose by, four to test. The data has {several}: add classes, or divide the "
        "ones there are more finely",
        DataError,
    )
    seen = n - n // 2
    share = USUAL if USUAL * seen >= ENOUGH_VALIDATION else LARGE
    whose = "the data set's own test half" if has_test_half else "half of the classes"
    return SplitChoice(
        words=("split=half_classes", f"split.validation={share}"),
        sentence=f"No class is in two parts: {whose} tests, sealed until a method is chosen; of the others "
        f"{100 * share:.0f} % validate and the rest train.",
    )


def choose_protocol(
    *,
    is_picture: bool,
    width: int,
    shorter_side: int,
    is_one_size: bool,
    train_images: int,
    train_classes: int,
    worker_seconds: float,
    protocol: str | None = None,
) -> ProtocolChoice:
    """Return the protocol for data of this kind and size, and for so many seconds of all workers together.

    `protocol` takes the choice between the two for images out of our hands.
    """
    kinds = ("laptop", "photographs") if is_picture else ("features",)
    require(
        protocol is None or protocol in kinds,
        f"--protocol for this data is {' or '.join(kinds)}; got '{protocol}'",
    )
    if not is_picture:
        return _features(width, train_images, train_classes)
    if protocol == "laptop" or (protocol is None and shorter_side <= SMALL_SIDE):
        return _small(shorter_side, is_one_size, train_classes, worker_seconds)
    return _photographs(shorter_side, train_images, train_classes)


def _features(width: int, train_images: int, train_classes: int) -> ProtocolChoice:
    dim = _dimensions(min(128, width), train_images)
    untrained = (
        MethodSpec(label="raw features", words=("head=identity", "training.epochs=0")),
        MethodSpec(label="principal axes", words=("training.epochs=0",)),
    )
    return ProtocolChoice(
        field="recommend/features",
        words=(f"head.embedding_dim={dim}", *_batch(128, train_classes)),
        baselines=untrained,
        sentence=f"Ready-made features, so only a linear head is trained, from {width} to {dim} numbers, starting at "
        "their principal axes (protocol features).",
    )


def _small(side: int, is_one_size: bool, train_classes: int, worker_seconds: float) -> ProtocolChoice:
    is_short = worker_seconds < SHORT
    trunk = "folded_conv" if is_short else "small_conv"
    words = [f"trunk={trunk}"] if is_short else []
    if not is_one_size:
        words += ["transform=mlrc2020", f"transform.side={max(16, side // 16 * 16)}"]
    size = "a very small network, so that a race fits the time," if is_short else "a small network"
    return ProtocolChoice(
        field="recommend/laptop",
        words=(*words, *_batch(128, train_classes)),
        baselines=(MethodSpec(label="untrained network", words=("training.epochs=0",)),),
        sentence=f"Images of about {side} pixels: {size} is trained from nothing (protocol laptop, {trunk}); a "
        "large pretrained one would see too few pixels.",
    )


def _photographs(side: int, train_images: int, train_classes: int) -> ProtocolChoice:
    dim = _dimensions(128, train_images)
    return ProtocolChoice(
        field="recommend/photographs",
        words=("head=pca", "head.standardise=false", f"head.embedding_dim={dim}", *_batch(32, train_classes)),
        baselines=(MethodSpec(label="frozen network", words=("training.epochs=0",)),),
        sentence=f"Photographs of about {side} pixels: EfficientNet-Lite0 with its ImageNet weights is fine-tuned "
        f"gently, from the {dim} principal axes of its features (protocol photographs).",
    )


def _dimensions(most: int, train_images: int) -> int:
    """Return how many numbers an embedding has: a head that starts from principal axes needs more images than that."""
    dim = most
    while dim >= train_images and dim > 2:
        dim //= 2
    return dim


def _batch(usual: int, train_classes: int) -> tuple[str, ...]:
    """Return the words for a batch of as many classes as there are, where there are few."""
    fits = PER_CLASS * train_classes
    return () if fits >= usual else (f"training.batch_size={fits}",)
