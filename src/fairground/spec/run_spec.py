"""One run: what is trained on what, how, and how it is judged."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fairground.spec import LATER, Value, require, require_within

#: optimisers by name; others by dotted path
OPTIMISERS = ("adam", "adamw", "sgd", "rmsprop")
Precision = Literal["full", "bf16", "fp16", "auto"]


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
    average of the weights, which is then what is validated, selected and used; 0 for none. An optimiser by dotted path
    (torch.optim:NAdam) has `settings` of its own, which may be written as the others are: optimiser.betas=[0.9, 0.99].
    """

    name: str = "adam"
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
    settings: Mapping[str, Value] = field(default_factory=dict, metadata=LATER)

    def __post_init__(self) -> None:
        is_outside, known = ":" in self.name, ", ".join(map(repr, OPTIMISERS))
        is_known = is_outside or self.name in OPTIMISERS
        require(is_known, f"optimiser.name must be one of {known}, or a dotted path; got {self.name!r}")
        require(is_outside or not self.settings, f"optimiser.settings are for one by dotted path; got {self.name!r}")
        check_bounds("optimiser", self, "[0, 100]", "lr", "head_lr", "loss_lr")
        check_bounds("optimiser", self, "[0, 1]", "weight_decay", "loss_weight_decay")
        check_bounds("optimiser", self, "[0, 1)", "momentum", "average")
        check_bounds("optimiser", self, "(0, 1]", "step_factor")
        check_bounds("optimiser", self, "[0, inf)", "warmup_epochs", "clip_norm", "frozen_trunk_epochs")
        check_bounds("optimiser", self, "[1, inf)", "step_epochs")
        has_momentum = is_outside or self.name in ("sgd", "rmsprop") or self.momentum == 0
        require(has_momentum, f"optimiser.momentum is for sgd and rmsprop; {self.name} has its own, so leave it at 0")
        is_stepped = self.schedule == "step" or (self.step_epochs, self.step_factor) == (10, 0.1)
        require(is_stepped, "optimiser.step_epochs and step_factor are for optimiser.schedule=step")


@dataclass(frozen=True, kw_only=True)
class TrainingSpec:
    """How long, how large, and when to stop. `batches_per_epoch` 0 means one natural pass over the training split.

    `precision` bf16 or fp16 lets the network multiply in numbers of two bytes, auto in those that the device has.
    `trainable` says which stages of the trunk train besides the head: all, the last N (last:N), or none (head). The
    others run once: their outputs for `views` augmented views of each image are kept on disk, or with 0 none are. Every
    `analyse_every` epochs, 0 for never, rho and pi of the training split go into the epoch's row. On a GPU only
    `deterministic` algorithms are used where that is asked for, and else the fastest.
    """

    batch_size: int = 128
    epochs: int = 10
    batches_per_epoch: int = 0
    validate_every: int = 1
    patience: int = 0
    freeze_batch_norm: Literal["none", "stats", "stats_and_affine"] = "none"
    gradient_chunk: int = 0
    precision: Precision = "full"
    compile: bool = False
    trainable: str = field(default="all", metadata=LATER)
    views: int = field(default=4, metadata=LATER)
    analyse_every: int = field(default=0, metadata=LATER)
    deterministic: bool = field(default=False, metadata=LATER)

    def __post_init__(self) -> None:
        check_bounds("training", self, "[1, inf)", "batch_size", "validate_every")
        counts = ("epochs", "batches_per_epoch", "patience", "gradient_chunk", "views", "analyse_every")
        check_bounds("training", self, "[0, inf)", *counts)
        wanted = "must be all, head, or last:N for the last N stages of the trunk, like last:2"
        is_fine = re.fullmatch(r"all|head|last:[1-9][0-9]*", self.trainable) is not None
        require(is_fine, f"training.trainable {wanted}; got {self.trainable!r}")


@dataclass(frozen=True, kw_only=True)
class EvaluationSpec:
    """What is measured, and which score of which split chooses the checkpoint.

    `select_on` test is for protocols that say so, as that of Roth et al. does; `report` best_of_each is their habit of
    taking each metric's own best epoch. `test` false leaves the test split sealed for good: a trial of a search is
    judged on validation alone. `analyses` are made of the training split, once, with the selected weights. Metrics that
    need clusters are averaged over k-means from `clustering_seeds` seeds. `watch_test` measures the test split whenever
    validation is measured and keeps its scores, to study what selection on test would report; it selects nothing.
    `principal_axes` above 0 is MLRC's way with networks that are not trained: embeddings are measured on so many
    principal axes of the evaluated images themselves. `rerank` measures re-ranked lists beside the plain ones: their
    scores are transductive, have names of their own (`map@r+k_reciprocal`), and select only where `select_by` says so.
    `relevance` says what a reference is worth to a query: 1 if they share the class, or one of several labels (`label`,
    `any`); 1 if all labels are the `same`; the share of its labels (`query_share`) or of those of either (`jaccard`);
    with `levels`, graded metrics count the super-classes that both share too. `distance` poincare measures raw
    embeddings by the distance in the ball of a loss that has one; at unit length all distances have one order.
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
    rerank: Literal["none", "k_reciprocal", "query_expansion"] = field(default="none", metadata=LATER)
    relevance: Literal["label", "any", "same", "query_share", "jaccard", "levels"] = field(
        default="label", metadata=LATER
    )
    distance: Literal["euclidean", "poincare"] = field(default="euclidean", metadata=LATER)

    def __post_init__(self) -> None:
        check_bounds("evaluation", self, "[1, inf)", "clustering_seeds")
        check_bounds("evaluation", self, "[0, inf)", "principal_axes")
        on_test, measured = self.select_on == "test", (*self.metrics, *(f"{one}+{self.rerank}" for one in self.metrics))
        is_selected = self.select_by in (self.metrics if self.rerank == "none" else measured)
        require(len(self.metrics) > 0, "evaluation.metrics must name at least one metric")
        require(is_selected, f"evaluation.select_by must be one of evaluation.metrics; got {self.select_by!r}")
        is_plain = self.distance == "euclidean" or self.rerank == "none"
        require(
            is_plain, "evaluation.rerank looks at Euclidean neighbours, so it needs evaluation.distance = euclidean"
        )
        complaint = "evaluation.select_on = test looks at the test split, so evaluation.test = false"
        require(self.test or not on_test, complaint)
        complaint = "evaluation.report = best_of_each picks epochs by test scores, so it needs"
        require(on_test or self.report == "selected", f"{complaint} evaluation.select_on = test")
        complaint = "evaluation.watch_test looks at the test split while validation selects, so it needs"
        is_watched = not self.watch_test or (self.test and not on_test)
        require(is_watched, f"{complaint} evaluation.test = true and evaluation.select_on = validation")


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
        check_bounds("", self, "[0, inf)", "seed")
        require(self.seed < 2**63, f"seed must be below 2**63; got {self.seed}")
        axes, epochs = self.evaluation.principal_axes, self.training.epochs
        wanted = "for networks that are not trained: say training.epochs=0, or leave it at 0"
        is_fine = axes == 0 or epochs == 0
        require(is_fine, f"evaluation.principal_axes is {wanted}; got {axes} axes and {epochs} epochs")

    def value_of(self, key: str) -> Value:
        """Return what the run has for a dotted setting, if anything; a rate that is left out is the trunk's."""
        part, _, setting = key.partition(".")
        section = getattr(self, part, None)
        if isinstance(section, ComponentSpec):
            return section.settings.get(setting)
        found: Value = getattr(section, setting, None)
        return self.optimiser.lr if found is None and setting in ("head_lr", "loss_lr") else found


#: the room of each part of a run
ROOM_OF: Mapping[str, str] = {
    **{"data": "datasets", "split": "splits", "transform": "transforms", "trunk": "trunks", "head": "heads"},
    **{"loss": "losses", "miner": "miners", "regulariser": "regularisers", "sampler": "samplers"},
}
#: parts that may be `none`
OPTIONAL = frozenset({"miner", "regulariser"})


def check_bounds(section: str, spec: object, interval: str, *keys: str) -> None:
    """Refuse values of a section outside an interval, written as in mathematics; None is a value left out."""
    for key in keys:
        require_within(interval, f"{section}.{key}".removeprefix("."), getattr(spec, key))
