"""What is asked of a recommendation: the data, the metric that decides, and the split and protocol chosen for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairground.errors import DataError, require
from fairground.recommendation.candidates import FROZEN, RAW, UNTRAINED
from fairground.spec.load import load_run
from fairground.spec.measurement_names import declared_metric
from fairground.spec.settings import Value
from fairground.spec.study import MethodSpec
from fairground.spec.study_load import load_study

#: fewer classes cannot be divided into two that train, two that validate and as many that test
LEAST_CLASSES = 8
#: up to this shorter side a small network trained from scratch does better than a large pretrained one
SMALL_SIDE = 64
#: below this many seconds small images get a network of a seventh of the cost
SHORT = 750
#: decides where the metric that was asked for shows no difference
SECOND = "map@r"
ALWAYS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
#: what is compared, and so cannot be set for every method; rates are compared where heads are trained
COMPARED, RATES = ("loss", "head", "seed"), ("optimiser.lr", "optimiser.head_lr")

Kind = Literal["features", "photographs", "laptop"]


@dataclass(frozen=True, kw_only=True)
class SplitChoice:
    """How the classes are divided: the overrides, and a sentence for the user."""

    overrides: Mapping[str, Value]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class ProtocolChoice:
    """`kind` is the protocol, `study` lists its losses; `overrides` are for every method.

    `frozen` is what the network is called untrained.
    """

    kind: Kind
    study: str
    overrides: Mapping[str, Value]
    frozen: str
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """`base` are the overrides of the data, the split and the network, the user's own last."""

    title: str
    choice: ProtocolChoice
    base: Mapping[str, Value]
    by: str
    seed: int
    #: what was seen and chosen, for the user
    sentences: tuple[str, ...] = ()

    @property
    def is_small(self) -> bool:
        return self.choice.kind == "laptop"

    @property
    def is_higher(self) -> bool:
        declared = declared_metric(self.by)
        return True if declared is None else declared.higher_is_better

    @property
    def deciding(self) -> tuple[str, ...]:
        """The metrics that decide, in that order."""
        return tuple(dict.fromkeys((self.by, SECOND)))

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*ALWAYS, self.by)))

    @property
    def shown(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("recall@1", "map@r", self.by)))

    def methods(self) -> Sequence[MethodSpec]:
        return load_study(self.choice.study).methods

    def identity(self) -> dict[str, Any]:
        """Return all that decides the answer; the time does not, so that more of it continues the same race."""
        return {"kind": self.choice.kind, "base": dict(self.base), "by": self.by, "seed": self.seed}


def make_request(
    label: str,
    data: Mapping[str, Value],
    overrides: Mapping[str, Value],
    *,
    by: str,
    protocol: str | None,
    seed: int,
    seconds: float,
) -> Request:
    """Look at the data and return what is asked; `data` names it, `overrides` are the user's own."""
    import numpy as np

    from fairground.contracts.metric import RankingMetric
    from fairground.evaluation.metric_scores import metric_named
    from fairground.training.build import build_dataset

    require(
        isinstance(metric_named(by), RankingMetric),
        f"--by takes a metric with a value for each query, like recall@1, map@r or r_precision; got '{by}'",
    )
    own = {key: value for key, value in overrides.items() if key.partition(".")[0] == "data"}
    table = build_dataset(load_run(overrides={**data, **own}).data).load()
    images, counts = table.images, np.bincount(table.labels)
    split = choose_split(
        tuple(int(count) for count in counts[counts > 0]),
        lists_parts=table.listed_parts is not None,
        has_test_half=table.official_test is not None,
        seed=seed,
    )
    # The sizes of some images are enough, and quick to read.
    some = np.unique(np.linspace(0, len(images) - 1, min(len(images), 512)).astype(np.int64))
    sizes = images.sizes(some) if images.is_picture else np.zeros((1, 2), np.int64)
    choice = choose_protocol(
        is_picture=images.is_picture,
        width=images.channels,
        shorter_side=int(np.median(sizes.min(axis=1))),
        is_one_size=bool((sizes == sizes[0]).all()),
        seconds=seconds,
        protocol=protocol,
    )
    for key in COMPARED if choice.kind == "laptop" else (*COMPARED, *RATES):
        require(key not in overrides, f"recommend compares methods, so {key} cannot be set for all of them")
    # A data set in memory has no prepared images.
    is_file = data.get("data") in ("folder", "table")
    chosen = {key: value for key, value in choice.overrides.items() if is_file or not key.startswith("data.")}
    return Request(
        title=f"Which method for {label}?",
        choice=choice,
        base={**data, **chosen, **({} if "split" in overrides else split.overrides), **overrides},
        by=by,
        seed=seed,
        sentences=(
            f"{len(table.labels)} images of {np.count_nonzero(counts)} classes. {split.sentence}",
            choice.sentence,
        ),
    )


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
        sentence = "Your own list of parts is kept; no class is in two of them."
        return SplitChoice(overrides={"split": "listed"}, sentence=sentence)
    require(
        several >= LEAST_CLASSES,
        f"a model is judged on classes it has never seen, which takes at least {LEAST_CLASSES} classes of two images "
        f"or more: two to train on, two to choose by, four to test. The data has {several}: add classes, or divide the "
        "ones there are more finely",
        DataError,
    )
    test = "the data set's own test half" if has_test_half else f"half of the classes, drawn by seed {seed},"
    return SplitChoice(
        overrides={"split": "random_halves", "split.seed": seed},
        sentence=f"No class is in two parts: {test} tests, sealed until a method is chosen; the others train and "
        "validate in turn, in folds of classes.",
    )


def choose_protocol(
    *, is_picture: bool, width: int, shorter_side: int, is_one_size: bool, seconds: float, protocol: str | None = None
) -> ProtocolChoice:
    """Return the protocol for data of this kind and size and for so many seconds, or the user's own for images."""
    kinds = ("laptop", "photographs") if is_picture else ("features",)
    require(
        protocol is None or protocol in kinds,
        f"--protocol for this data is {' or '.join(kinds)}; got '{protocol}'",
    )
    if not is_picture:
        return ProtocolChoice(
            kind="features",
            study="recommend/features-settings",
            overrides={},
            frozen=RAW,
            sentence=f"Ready-made features of {width} numbers: as they are, with discriminants, on principal axes, "
            "then heads trained on them.",
        )
    if protocol == "laptop" or (protocol is None and shorter_side <= SMALL_SIDE):
        return _small_network(shorter_side, is_one_size, is_short=seconds < SHORT)
    return ProtocolChoice(
        kind="photographs",
        study="recommend/features-settings",
        overrides={
            "data.prepared": 0,
            "training.batch_size": 128,
            "optimiser.name": "adam",
            "optimiser.weight_decay": 0.0,
        },
        frozen=FROZEN,
        sentence=f"Photographs of about {shorter_side} pixels: a pretrained network embeds each once. The frozen "
        "network comes first, then heads on its features, then its last stages as far as the time allows.",
    )


def _small_network(side: int, is_one_size: bool, *, is_short: bool) -> ProtocolChoice:
    trunk = "folded_conv" if is_short else "small_conv"
    overrides: dict[str, Value] = {"data.prepared": max(16, side), "trunk": trunk}
    if not is_one_size:
        overrides |= {"transform": "mlrc2020", "transform.side": max(16, side // 16 * 16)}
    size = "a very small network, so that many trainings fit the time," if is_short else "a small network"
    return ProtocolChoice(
        kind="laptop",
        study="recommend/laptop-settings",
        overrides=overrides,
        frozen=UNTRAINED,
        sentence=f"Images of about {side} pixels: {size} is trained from scratch ({trunk}); a large pretrained one "
        "would see too few pixels.",
    )
