"""One adaptation of a network: a head on cached features, then perhaps the last stages with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairground.errors import require
from fairground.spec.load import run_from_plain
from fairground.spec.run import RunSpec

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

    def __post_init__(self) -> None:
        require(self.steps >= 0, f"an adaptation's steps must be 0 or more; got {self.steps}")
        require(self.depth >= ALL, f"an adaptation's depth must be {ALL} (all stages), 0 or more; got {self.depth}")
        require(
            (self.depth != 0) == (self.depth_steps > 0),
            f"an adaptation of {self.depth} stages cannot have {self.depth_steps} steps for them",
        )

    @property
    def is_trained(self) -> bool:
        return self.steps + self.depth_steps > 0

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> "AdaptationSpec":
        return cls(**{**data, "run": run_from_plain(data["run"])})
