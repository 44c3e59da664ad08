"""What is asked of a recommendation: the data, the metric that decides, and the split and protocol chosen for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Literal

from fairground.errors import DataError, require
from fairground.recommendation.candidates import FROZEN, RAW, UNTRAINED, Candidate, plain
from fairground.spec import AdaptationSpec, MethodSpec, Value, load_run, load_study

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
class Request:
    """`kind` is the protocol; `base` are the overrides of data, split and network for every method, the user's last."""

    title: str
    kind: Kind
    base: Mapping[str, Value]
    by: str
    seed: int
    #: what was seen and chosen, for the user
    sentences: tuple[str, ...] = ()

    @property
    def is_small(self) -> bool:
        return self.kind == "laptop"

    @property
    def frozen(self) -> Candidate:
        return plain({"features": RAW, "photographs": FROZEN, "laptop": UNTRAINED}[self.kind])

    @property
    def deciding(self) -> tuple[str, ...]:
        """The metrics that decide, in that order."""
        return tuple(dict.fromkeys((self.by, SECOND)))

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*ALWAYS, self.by)))

    def rank(self, scores: Mapping[str, float]) -> float:
        """Return what methods are ranked by: the mean of the deciding metrics.

        The second is steadier where the first counts hits and misses alone.
        """
        return fmean(scores[metric] for metric in self.deciding)

    def methods(self) -> Sequence[MethodSpec]:
        return load_study(f"recommend/{'laptop' if self.is_small else 'features'}-settings").methods

    def with_trunk(self, trunk: str) -> "Request":
        return replace(self, base={**self.base, "trunk": trunk, "trunk.weights": "imagenet"}) if trunk else self

    def spec(self, candidate: Candidate, repeat: int = 0) -> AdaptationSpec:
        """Return what a candidate trains in a repeat; repeat 0 has the seed of the model that is handed over."""
        return candidate.spec(self.kind, self.base, self.seed + repeat)

    def identity(self) -> dict[str, Any]:
        """Return all that decides the answer; the time does not, so that more of it continues the same race."""
        return {"kind": self.kind, "base": dict(self.base), "by": self.by, "seed": self.seed}


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
    from fairground.training.assemble import build

    metric = metric_named(by)
    require(
        isinstance(metric, RankingMetric) and metric.higher_is_better,
        f"--by takes a metric with a value for each query, like recall@1, map@r or r_precision; got '{by}'",
    )
    own = {key: value for key, value in overrides.items() if key.partition(".")[0] == "data"}
    table = build("data", load_run(overrides={**data, **own}).data).load()
    images, counts = table.images, np.bincount(table.labels)
    split, how_split = choose_split(
        counts[counts > 0].tolist(),
        lists_parts=table.listed_parts is not None,
        has_test_half=table.official_test is not None,
        seed=seed,
    )
    # The sizes of some images are enough, and quick to read.
    some = np.unique(np.linspace(0, len(images) - 1, min(len(images), 512)).astype(np.int64))
    sizes = images.sizes(some) if images.is_picture else np.zeros((1, 2), np.int64)
    kind, chosen, how_trained = choose_protocol(
        is_picture=images.is_picture,
        width=images.channels,
        shorter_side=int(np.median(sizes.min(axis=1))),
        is_one_size=bool((sizes == sizes[0]).all()),
        seconds=seconds,
        protocol=protocol,
    )
    for key in COMPARED if kind == "laptop" else (*COMPARED, *RATES):
        require(key not in overrides, f"recommend compares methods, so {key} cannot be set for all of them")
    if data.get("data") not in ("folder", "table"):
        # A data set in memory has no prepared images.
        chosen.pop("data.prepared", None)
    return Request(
        title=f"Which method for {label}?",
        kind=kind,
        base={**data, **chosen, **({} if "split" in overrides else split), **overrides},
        by=by,
        seed=seed,
        sentences=(f"{len(table.labels)} images of {np.count_nonzero(counts)} classes. {how_split}", how_trained),
    )


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
