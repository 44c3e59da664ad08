"""One adaptation of a network to data: a head fitted or trained on its frozen features, or all weights trained."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fairground.spec import RunSpec, run_from_plain

Trains = Literal["nothing", "head", "network"]


@dataclass(frozen=True, kw_only=True)
class AdaptationSpec:
    """`run` says the data, the network, the head, the loss, the optimiser and the seed.

    The head is fitted to frozen features and, where `trains` is "head", trained on them for `steps`. Where it is
    "network", all weights of the trunk are trained for `steps` on images with its features as embeddings, and the head
    is fitted to the features afterwards. `published` is the share of the published weights in those that are used.
    """

    run: RunSpec
    trains: Trains = "nothing"
    steps: int = 0
    published: float = 0.0

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "AdaptationSpec":
        return cls(**{**data, "run": run_from_plain(data["run"])})
