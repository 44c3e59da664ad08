"""What is asked of a recommendation: the data, the metric that decides, which networks may be tried."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from fairground.errors import DataError, require
from fairground.recommendation.methods import Method, Network, plain
from fairground.recommendation.sealed_classes_and_folds import choose_split
from fairground.spec import Value, find, load_run

#: images up to this shorter side, and images without colour, may be unlike photographs: a small network trained from
#: scratch is a candidate for them
SMALL_SIDE = 64
#: below this many seconds the small network has a seventh of the cost
SHORT = 750
#: the network of the protocol, which is tried first
FIRST = "efficientnet_lite0"
#: sides that a pretrained network may see, and how much larger an image is before the middle is cut
SIDES, MARGIN = (128, 160, 224), 256 / 224
#: decides together with the metric that was asked for
SECOND = "map@r"
ALWAYS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
#: what is compared, and so cannot be set for every method
COMPARED = ("loss", "head", "miner", "seed", "optimiser.lr", "optimiser.head_lr")
#: mean difference of the channels of an image without colour, of 255
MOST_GRAY = 4
#: images whose size and colour are looked at
LOOKED_AT = 64
NOTHING_READ = "no image can be read (`fairground data check` says why)"
#: what the first row of every table is called
FROZEN, RAW = "frozen network", "raw features"


@dataclass(frozen=True, kw_only=True)
class Request:
    """`base` are the overrides of data and split for every method, the user's last.

    `protocol` is the one asked for, empty for any; `small` is the user's own trunk where it is trained from scratch.
    `shorter_side` is the median of the images, 0 of features.
    """

    title: str
    base: Mapping[str, Value]
    by: str = "recall@1"
    seed: int = 0
    protocol: str = ""
    small: Mapping[str, Value] = field(default_factory=dict)
    shorter_side: int = 0
    is_drawn: bool = False
    #: the shorter side that image files are prepared to, 0 to decode them each time
    prepared: int = 256
    #: what was seen and chosen, for the user
    sentences: tuple[str, ...] = ()

    @property
    def deciding(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.by, SECOND)))

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*ALWAYS, self.by)))

    def rank(self, scores: Mapping[str, float]) -> float:
        """Return what methods are ranked by: the mean of the deciding metrics.

        The second is steadier where the first counts hits and misses alone.
        """
        return fmean(scores[metric] for metric in self.deciding)

    def published(self, trunk: str, side: int) -> Network:
        """Return a network with published weights that sees images of this side; 0 leaves that to the protocol."""
        overrides: dict[str, Value] = {}
        if self.base.get("data") in ("folder", "table"):
            overrides["data.prepared"] = self.prepared
        if trunk:
            overrides["trunk"] = trunk
        name = trunk or str(self.base.get("trunk", FIRST))
        if find("trunks", name).published:
            overrides["trunk.weights"] = "imagenet"
        if side:
            overrides |= {"transform.side": side, "transform.shorter_side": round(side * MARGIN)}
            name += f" at {side} pixels"
        return Network(name=name, protocol="photographs", overrides=overrides)

    def new(self, seconds: float) -> Network:
        """Return a network to train from scratch: the user's own, or a small one whose size the time decides."""
        side = max(16, min(SMALL_SIDE, self.shorter_side) // 16 * 16)
        overrides = {"trunk": "folded_conv" if seconds < SHORT else "small_conv", **self.small}
        if self.base.get("data") in ("folder", "table"):
            overrides |= {"transform": "mlrc2020", "transform.side": side, "transform.shorter_side": side}
            overrides["data.prepared"] = side
        return Network(name=str(overrides["trunk"]), protocol="laptop", overrides=overrides, is_new=True)

    def first(self) -> Network:
        """Return where features come from if nothing is measured."""
        return self.published("", 0) if self.shorter_side else Network(name="", protocol="features")

    def frozen(self, network: Network) -> Method:
        return plain(FROZEN if self.shorter_side else RAW, network)

    def identity(self) -> dict[str, Any]:
        """Return all that decides the answer; the time does not, so that more of it continues the same search."""
        return {"base": {**self.base, **self.small}, "by": self.by, "seed": self.seed, "protocol": self.protocol}


def make_request(
    label: str, data: Mapping[str, Value], overrides: Mapping[str, Value], *, by: str, protocol: str | None, seed: int
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
    kinds = ("laptop", "photographs") if images.is_picture else ("features",)
    refusal = f"--protocol for this data is {' or '.join(kinds)}; got '{protocol}'"
    require(protocol is None or protocol in kinds, refusal)
    for key in COMPARED:
        require(key not in overrides, f"recommend compares methods, so {key} cannot be set for all of them")
    side, is_gray, noun, what = 0, False, "items", f"Ready-made features of {images.channels} numbers."
    if images.is_picture:
        side, is_gray = _side_and_gray(images)
        noun, what = "images", f"Their shorter side is about {side} pixels."
    request = Request(
        title=f"Which method for {label}?",
        base={**data, **({} if "split" in overrides else split), **overrides},
        by=by,
        seed=seed,
        protocol=protocol or "",
        shorter_side=side,
        is_drawn=is_gray or 0 < side <= SMALL_SIDE,
        sentences=(f"{len(table.labels)} {noun} of {np.count_nonzero(counts)} classes. {how_split}", what),
    )
    trunk = {key: value for key, value in overrides.items() if key.partition(".")[0] == "trunk"}
    if not trunk or not images.is_picture:
        return request
    run = request.frozen(request.first()).spec(request.base, seed).run
    is_pretrained = bool(build("trunk", run.trunk, {"channels": images.channels}).weights_fingerprint)
    if is_pretrained and protocol != "laptop":
        return request
    # Random weights are no baseline: the pretrained network of the protocol is.
    refusal = f"--protocol photographs tries pretrained networks, and {run.trunk.name} has no weights: "
    require(protocol != "photographs", refusal + "give trunk.weights, or leave out --protocol")
    said = f"{run.trunk.name} is trained from scratch, and compared with the pretrained network."
    base = {key: value for key, value in request.base.items() if key not in trunk}
    return replace(request, base=base, small=trunk, protocol="laptop", sentences=(*request.sentences, said))


def _side_and_gray(images: Any) -> tuple[int, bool]:
    """Return the median shorter side of some images, and whether none has colour, as of characters and drawings."""
    import numpy as np

    from fairground.loading.image_dataset import shrunk_picture

    sides, colours = [], []
    for row in np.unique(np.linspace(0, len(images) - 1, LOOKED_AT).astype(np.int64)).tolist():
        # Those that cannot be read say nothing.
        with suppress(DataError):
            picture, size = shrunk_picture(images, row, 32)
            pixels = np.asarray(picture.convert("RGB"), dtype=np.int64)
            sides.append(min(size))
            colours.append((pixels.max(axis=2) - pixels.min(axis=2)).mean())
    require(len(sides) > 0, NOTHING_READ, DataError)
    return int(np.median(sides)), max(colours) <= MOST_GRAY
