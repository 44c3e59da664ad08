"""One run: what is trained on what, how, and how it is judged."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairground.errors import require
from fairground.spec.settings import LATER, Value


@dataclass(frozen=True, kw_only=True)
class ComponentSpec:
    """A component by name, with its settings complete: every default spelt out."""

    name: str
    settings: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class OptimiserSpec:
    """One optimiser, three groups: trunk, head and the loss' own weights. A rate left out follows `lr`.

    All rates rise linearly over the first `warmup_epochs`, then follow `schedule`: constant, cosine down to 0 at the
    last step, or step, times `step_factor` every `step_epochs`. The trunk rests for the first `frozen_trunk_epochs`.
    `clip_norm` bounds the length of the gradient of all weights, 0 leaves it. `average` is the decay of a moving
    average of the weights, which is then what is validated, selected and used; 0 for none.
    """

    name: Literal["adam", "adamw", "sgd", "rmsprop"] = "adam"
    lr: float = 1e-3
    head_lr: float | None = None
    loss_lr: float | None = None
    weight_decay: float = 0.0
    loss_weight_decay: float = 0.0
    momentum: float = 0.0
    schedule: Literal["constant", "cosine", "step"] = field(default="constant", metadata=LATER)
    warmup_epochs: float = field(default=0.0, metadata=LATER)
    step_epochs: int = field(default=10, metadata=LATER)
    step_factor: float = field(default=0.1, metadata=LATER)
    frozen_trunk_epochs: int = field(default=0, metadata=LATER)
    clip_norm: float = field(default=0.0, metadata=LATER)
    average: float = field(default=0.0, metadata=LATER)

    def __post_init__(self) -> None:
        for key in ("lr", "head_lr", "loss_lr"):
            rate = getattr(self, key)
            require(rate is None or 0 <= rate <= 100, f"optimiser.{key} must be in [0, 100]; got {rate}")
        for key in ("weight_decay", "loss_weight_decay"):
            decay = getattr(self, key)
            require(0 <= decay <= 1, f"optimiser.{key} must be in [0, 1]; got {decay}")
        require(0 <= self.momentum < 1, f"optimiser.momentum must be in [0, 1); got {self.momentum}")
        require(
            self.name in ("sgd", "rmsprop") or self.momentum == 0,
            f"optimiser.momentum is for sgd and rmsprop; {self.name} has its own, so leave it at 0",
        )
        for key in ("warmup_epochs", "clip_norm"):
            value = getattr(self, key)
            require(0 <= value < float("inf"), f"optimiser.{key} must be a number from 0; got {value}")
        require(0 <= self.average < 1, f"optimiser.average is a decay in [0, 1), like 0.99; got {self.average}")
        at_least(0, {"optimiser.frozen_trunk_epochs": self.frozen_trunk_epochs})
        at_least(1, {"optimiser.step_epochs": self.step_epochs})
        require(0 < self.step_factor <= 1, f"optimiser.step_factor must be in (0, 1]; got {self.step_factor}")
        is_stepped = self.schedule == "step" or (self.step_epochs, self.step_factor) == (10, 0.1)
        require(is_stepped, "optimiser.step_epochs and step_factor are for optimiser.schedule=step")


@dataclass(frozen=True, kw_only=True)
class TrainingSpec:
    """How long, how large, and when to stop. `batches_per_epoch` 0 means one natural pass over the training split.

    `precision` mixed multiplies in bfloat16 where the hardware has it; `compile` hands the network to torch.compile.
    `trainable` says which stages of the trunk train besides the head: all, the last N (last:N), or none (head). The
    others run once: their outputs for `views` augmented views of each image are kept on disk, and epochs train the
    rest from them. With `views` 0 nothing is kept, and every step augments again.
    """

    batch_size: int = 128
    epochs: int = 10
    batches_per_epoch: int = 0
    validate_every: int = 1
    patience: int = 0
    freeze_batch_norm: Literal["none", "stats", "stats_and_affine"] = "none"
    gradient_chunk: int = 0
    precision: Literal["full", "mixed"] = "full"
    compile: bool = False
    trainable: str = field(default="all", metadata=LATER)
    views: int = field(default=4, metadata=LATER)

    def __post_init__(self) -> None:
        at_least(1, {f"training.{key}": getattr(self, key) for key in ("batch_size", "validate_every")})
        counts = ("epochs", "batches_per_epoch", "patience", "gradient_chunk", "views")
        at_least(0, {f"training.{key}": getattr(self, key) for key in counts})
        require(
            re.fullmatch(r"all|head|last:[1-9][0-9]*", self.trainable) is not None,
            "training.trainable must be all, head, or last:N for the last N stages of the trunk, like last:2; got "
            f"{self.trainable!r}",
        )


@dataclass(frozen=True, kw_only=True)
class EvaluationSpec:
    """What is measured, and which score of which split chooses the checkpoint.

    `select_on` test is for protocols that say so, as that of Roth et al. does; `report` best_of_each is their habit of
    taking each metric's own best epoch. `test` false leaves the test split sealed for good: a trial of a search is
    judged on validation alone. `analyses` are made of the training split, once, with the selected weights. Metrics that
    need clusters are averaged over k-means from `clustering_seeds` seeds. `watch_test` measures the test split whenever
    validation is measured and keeps its scores, to study what selection on test would report; it selects nothing.
    `principal_axes` above 0 is MLRC's way with networks that are not trained: embeddings are measured on so many
    principal axes of the evaluated images themselves.
    """

    metrics: tuple[str, ...] = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")
    select_by: str = "map@r"
    select_on: Literal["validation", "test"] = "validation"
    report: Literal["selected", "best_of_each"] = "selected"
    test: bool = True
    analyses: tuple[str, ...] = ()
    lone: Literal["drop", "zero"] = "drop"
    normalise: bool | None = None
    clustering_seeds: int = field(default=1, metadata=LATER)
    watch_test: bool = field(default=False, metadata=LATER)
    principal_axes: int = field(default=0, metadata=LATER)

    def __post_init__(self) -> None:
        at_least(1, {"evaluation.clustering_seeds": self.clustering_seeds})
        at_least(0, {"evaluation.principal_axes": self.principal_axes})
        require(len(self.metrics) > 0, "evaluation.metrics must name at least one metric")
        require(
            self.select_by in self.metrics,
            f"evaluation.select_by must be one of evaluation.metrics; got {self.select_by!r}",
        )
        on_test = self.select_on == "test"
        require(
            self.test or not on_test, "evaluation.select_on = test looks at the test split, so evaluation.test = false"
        )
        require(
            on_test or self.report == "selected",
            "evaluation.report = best_of_each picks epochs by test scores, so it needs evaluation.select_on = test",
        )
        require(
            not self.watch_test or (self.test and not on_test),
            "evaluation.watch_test looks at the test split while validation selects, so it needs evaluation.test = "
            "true and evaluation.select_on = validation",
        )


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """Everything that decides the results of a run. Where it runs, and how it is watched, is not part of it."""

    protocol: str
    data: ComponentSpec
    split: ComponentSpec
    transform: ComponentSpec
    trunk: ComponentSpec
    head: ComponentSpec
    loss: ComponentSpec
    miner: ComponentSpec | None
    regulariser: ComponentSpec | None
    sampler: ComponentSpec
    optimiser: OptimiserSpec
    training: TrainingSpec
    evaluation: EvaluationSpec
    seed: int

    def __post_init__(self) -> None:
        at_least(0, {"seed": self.seed})
        require(self.seed < 2**63, f"seed must be below 2**63; got {self.seed}")
        require(
            self.evaluation.principal_axes == 0 or self.training.epochs == 0,
            "evaluation.principal_axes is for networks that are not trained: say training.epochs=0, or leave it at 0; "
            f"got {self.evaluation.principal_axes} axes and {self.training.epochs} epochs",
        )


#: the room of each part of a run
ROOM_OF: Mapping[str, str] = {
    "data": "datasets",
    "split": "splits",
    "transform": "transforms",
    "trunk": "trunks",
    "head": "heads",
    "loss": "losses",
    "miner": "miners",
    "regulariser": "regularisers",
    "sampler": "samplers",
}
#: parts that may be `none`
OPTIONAL = frozenset({"miner", "regulariser"})


def at_least(least: int, values: Mapping[str, int]) -> None:
    for key, value in values.items():
        require(value >= least, f"{key} must be at least {least}; got {value}")
