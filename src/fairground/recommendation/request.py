"""What is asked of a recommendation: the data, the metric that decides, and the overrides of every method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from fairground.errors import require
from fairground.recommendation.candidates import FROZEN, RAW, UNTRAINED, Candidate, plain
from fairground.recommendation.choose_protocol import Kind, choose_protocol, choose_split
from fairground.spec import AdaptationSpec, MethodSpec, Value, load_run, load_study

#: decides where the metric that was asked for shows no difference
SECOND = "map@r"
ALWAYS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
#: what is compared, and so cannot be set for every method; rates are compared where heads are trained
COMPARED, RATES = ("loss", "head", "seed"), ("optimiser.lr", "optimiser.head_lr")


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
