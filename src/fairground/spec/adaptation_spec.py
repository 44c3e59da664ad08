"""One adaptation of a network: a head on cached features, then perhaps the last stages with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairground.spec import RunSpec, run_from_plain

#: trains every stage of the trunk
ALL = -1


@dataclass(frozen=True, kw_only=True)
class AdaptationSpec:
    """`run` says the data, the network, the head, the loss, the optimiser and the seed.

    `steps` train the head alone on cached features of the frozen trunk. `depth_steps` then train the last `depth`
    stages of the trunk (`ALL` of them) with the head, the trunk at the rate `depth_lr` and the head at a tenth of its
    own.
    """

    run: RunSpec
    steps: int
    depth: int = 0
    depth_steps: int = 0
    depth_lr: float = 0.0

    @property
    def is_trained(self) -> bool:
        return self.steps + self.depth_steps > 0

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "AdaptationSpec":
        return cls(**{**data, "run": run_from_plain(data["run"])})
