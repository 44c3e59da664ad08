"""Which split, network and protocol suit a data set and a time, and why, in a sentence each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairground.errors import DataError, require
from fairground.recommendation.candidates import FROZEN, RAW, UNTRAINED

#: fewer classes cannot be divided into two that train, two that validate and as many that test
LEAST_CLASSES = 8
#: up to this shorter side a small network trained from nothing does better than a large pretrained one
SMALL_SIDE = 64
#: small images are folded, for a seventh of the cost, below this many seconds
SHORT = 750

Kind = Literal["features", "photographs", "laptop"]


@dataclass(frozen=True, kw_only=True)
class SplitChoice:
    """How the classes are divided: the override words, and the sentence for the user."""

    words: tuple[str, ...]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class ProtocolChoice:
    """What is raced: `kind` is the protocol too, `field` names the study that lists its losses.

    `words` hold for every method; `frozen` is what the network is called untrained.
    """

    kind: Kind
    field: str
    words: tuple[str, ...]
    frozen: str
    sentence: str


def choose_split(class_sizes: Sequence[int], *, lists_parts: bool, has_test_half: bool, seed: int) -> SplitChoice:
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
    whose = "the data set's own test half" if has_test_half else f"half of the classes, drawn by seed {seed},"
    return SplitChoice(
        words=("split=random_halves", f"split.seed={seed}"),
        sentence=f"No class is in two parts: {whose} tests, sealed until a method is chosen; the others train and "
        "validate in turn, in folds of classes.",
    )


def choose_protocol(
    *, is_picture: bool, width: int, shorter_side: int, is_one_size: bool, seconds: float, protocol: str | None = None
) -> ProtocolChoice:
    """Return the protocol for data of this kind and size, and for so many seconds.

    `protocol` takes the choice between the two for images out of our hands.
    """
    kinds = ("laptop", "photographs") if is_picture else ("features",)
    require(
        protocol is None or protocol in kinds,
        f"--protocol for this data is {' or '.join(kinds)}; got '{protocol}'",
    )
    if not is_picture:
        return ProtocolChoice(
            kind="features",
            field="recommend/features-settings",
            words=(),
            frozen=RAW,
            sentence=f"Ready-made features of {width} numbers: as they are, with discriminants, on principal axes, "
            "then heads trained on them.",
        )
    if protocol == "laptop" or (protocol is None and shorter_side <= SMALL_SIDE):
        return _small(shorter_side, is_one_size, seconds)
    return ProtocolChoice(
        kind="photographs",
        field="recommend/features-settings",
        words=("data.prepared=0", "training.batch_size=128", "optimiser.name=adam", "optimiser.weight_decay=0"),
        frozen=FROZEN,
        sentence=f"Photographs of about {shorter_side} pixels: a pretrained network embeds each once. The frozen "
        "network comes first, then heads on its features, then its last stages as far as the time allows.",
    )


def _small(side: int, is_one_size: bool, seconds: float) -> ProtocolChoice:
    is_short = seconds < SHORT
    trunk = "folded_conv" if is_short else "small_conv"
    words = [f"data.prepared={max(16, side)}", f"trunk={trunk}"]
    if not is_one_size:
        words += ["transform=mlrc2020", f"transform.side={max(16, side // 16 * 16)}"]
    size = "a very small network, so that many trainings fit the time," if is_short else "a small network"
    return ProtocolChoice(
        kind="laptop",
        field="recommend/laptop-settings",
        words=tuple(words),
        frozen=UNTRAINED,
        sentence=f"Images of about {side} pixels: {size} is trained from nothing ({trunk}); a large pretrained one "
        "would see too few pixels.",
    )
