"""A pretrained network on new classes: a head on its cached features, then perhaps its last stages with the head.

The network is the `Trunk` of every run, its first stages frozen; batches come from `Loader`, steps from `Stepper`. What
differs from a run is that a training is a number of steps and has no validation, checkpoint or record of its own.

Formula
    lr_t = lr (1 + cos(pi t / T)) / 2  for step t of T, for every group of weights
"""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.loss import Loss
from fairground.contracts.model import Head, Transform, Trunk
from fairground.contracts.table import Images, ImageTable
from fairground.errors import require
from fairground.evaluation.embed import embed
from fairground.functional.spectral import PrincipalAxes, class_scatter, principal_axes, principal_axes_of_few
from fairground.heads.pca import PcaHead
from fairground.heads.plda import PldaHead
from fairground.heads.whitened import WhitenedHead
from fairground.spec.adaptation import ALL, AdaptationSpec
from fairground.spec.identity import child_seed
from fairground.spec.run import RunSpec
from fairground.training.assemble import build_loss, build_miner, build_regulariser
from fairground.training.build import build, seeded
from fairground.training.loader import Loader
from fairground.training.model import EmbeddingModel
from fairground.training.optimiser import build_optimiser
from fairground.training.stage_cache import StageCache
from fairground.training.step import Stepper
from fairground.trunks.features import FeaturesTrunk

PER_CLASS = 4
#: images of a batch where stages of the network are trained
STAGE_BATCH = 32
#: the folds of two repeats: heads by the dozen start from the principal axes or the scatter of the same rows
KEPT_STARTS = 16
CPU = torch.device("cpu")


class CachedRows(Transform):
    """Cached outputs of frozen stages in place of images: any of the `views` trains, the first evaluates."""

    def __init__(self, cache: StageCache, views: Sequence[str]) -> None:
        self.cache, self.views = cache, views

    def train(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Tensor:
        drawn = torch.randint(len(self.views), (len(rows),), generator=generator).numpy()
        blocks = self.cache.read(self.views[0], rows)
        for number, view in enumerate(self.views[1:], start=1):
            places = np.flatnonzero(drawn == number)
            blocks[places] = self.cache.read(view, rows[places])
        return self.cache.laid_out(blocks, generator.device)

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        return self.cache.laid_out(self.cache.read(self.views[0], rows), device)


@dataclass(frozen=True, kw_only=True)
class AdaptedModel:
    """`model` takes what `inputs` gives of images; `depth` stages of it are trained."""

    model: EmbeddingModel
    images: Images
    inputs: Transform
    depth: int
    normalise: bool

    def embed(self, rows: np.ndarray) -> Tensor:
        return embed(self.model, self.images, rows, self.inputs)


@dataclass
class Adapter:
    """Fits adaptations to rows of one table.

    `trunk` is the frozen network, none where features are given or a network is trained from scratch by `make_trunk`.
    `features` gives what a head is trained on, `maps` the inputs of the last stages by their number.
    """

    table: ImageTable
    trunk: Trunk | None
    transform: Transform
    width: int
    features: Transform
    maps: dict[int, CachedRows] = field(default_factory=dict)
    make_trunk: Callable[[int], Trunk] | None = None
    #: called before every step; an error it raises ends the training
    before_step: Callable[[], None] = lambda: None
    _starts: dict[tuple[str, bytes], Any] = field(default_factory=dict)

    def fit(self, spec: AdaptationSpec, rows: np.ndarray) -> AdaptedModel:
        """Return the network adapted to these rows and to nothing else."""
        _, found = np.unique(self.table.labels[rows], return_inverse=True)
        labels = torch.from_numpy(found.astype(np.int64))
        trunk = FeaturesTrunk(channels=self.width) if self.make_trunk is None else self.make_trunk(spec.run.seed)
        head = self._head(spec.run, rows, labels)
        supplied = {"n_classes": int(labels.max()) + 1, "embedding_dim": head.embedding_dim}
        loss = build_loss(spec.run, supplied)
        model, inputs, depth = EmbeddingModel(trunk=trunk, head=head), self.features, 0
        size = spec.run.training.batch_size
        if spec.steps:
            self._train(model, loss, spec.run, inputs, rows, labels, steps=spec.steps, batch_size=size)
        if self.make_trunk is not None:
            inputs, depth = self.transform, ALL
            if spec.depth_steps:
                self._train(model, loss, spec.run, inputs, rows, labels, steps=spec.depth_steps, batch_size=size)
        elif spec.depth:
            model, inputs, depth = self._last_stages(head, spec.depth)
            rates = spec.run.optimiser
            gentle = replace(rates, lr=spec.depth_lr, head_lr=rates.lr / 10, loss_lr=(rates.loss_lr or rates.lr) / 10)
            run = replace(spec.run, optimiser=gentle)
            self._train(model, loss, run, inputs, rows, labels, steps=spec.depth_steps, batch_size=STAGE_BATCH)
        # Untrained embeddings are compared at unit length, trained ones as their loss compares them.
        normalise = loss.on_sphere or not spec.is_trained
        return AdaptedModel(
            model=model.eval(), images=self.table.images, inputs=inputs, depth=depth, normalise=normalise
        )

    def untrained(self, run: RunSpec) -> AdaptedModel:
        """Return the network as it is, with a head that needs no features."""
        trunk = FeaturesTrunk(channels=self.width) if self.make_trunk is None else self.make_trunk(run.seed)
        with seeded(run.seed, "init_head"):
            head: Head = build("head", run.head, {"n_features": self.width})
        return AdaptedModel(
            model=EmbeddingModel(trunk=trunk, head=head).eval(),
            images=self.table.images,
            inputs=self.transform,
            depth=0 if self.make_trunk is None else ALL,
            normalise=True,
        )

    def full_model(self, adapted: AdaptedModel) -> EmbeddingModel:
        """Return trunk and head as one network, from images or given features to embeddings."""
        is_head_alone = adapted.depth == 0 and self.trunk is not None
        trunk = copy.deepcopy(self.trunk if is_head_alone else adapted.model.trunk)
        assert trunk is not None
        trunk.is_past_frozen = False
        return EmbeddingModel(trunk=trunk, head=adapted.model.head).eval()

    def _head(self, run: RunSpec, rows: np.ndarray, labels: Tensor) -> Head:
        with seeded(run.seed, "init_head"):
            head: Head = build("head", run.head, {"n_features": self.width})
        if isinstance(head, PcaHead | WhitenedHead) and not getattr(head, "standardise", False):
            head.start_from(self._start("axes", rows, self._principal_axes))
        elif isinstance(head, PldaHead):
            head.start_from(self._start("scatter", rows, lambda features: class_scatter([features], labels)))
        elif head.needs_labels:
            head.fit_classes([self._features_of(rows)], labels)
        elif head.needs_features:
            head.fit([self._features_of(rows)])
        return head

    def _features_of(self, rows: np.ndarray) -> Tensor:
        return self.features.evaluate(self.table.images, rows)

    def _start(self, kind: str, rows: np.ndarray, make: Callable[[Tensor], Any]) -> Any:
        """Return what heads of a kind start from on these rows; the last few are kept."""
        key = (kind, rows.tobytes())
        if key not in self._starts:
            if len(self._starts) >= KEPT_STARTS:
                self._starts.pop(next(iter(self._starts)))
            self._starts[key] = make(self._features_of(rows))
        return self._starts[key]

    @staticmethod
    def _principal_axes(features: Tensor) -> PrincipalAxes:
        is_wide = features.shape[0] < features.shape[1]
        return principal_axes_of_few(features) if is_wide else principal_axes([features], standardise=False)

    def _last_stages(self, head: Head, depth: int) -> tuple[EmbeddingModel, Transform, int]:
        """Return the trunk with its last stages free, and what they are trained on."""
        require(self.trunk is not None, "features have no stages to train")
        trunk = copy.deepcopy(self.trunk)
        assert trunk is not None
        n_frozen = 0 if depth == ALL else len(trunk.stages) - depth
        trunk.is_past_frozen = depth != ALL
        model = EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm="stats", n_frozen=n_frozen)
        return model, self.transform if depth == ALL else self.maps[depth], depth

    def _train(
        self,
        model: EmbeddingModel,
        loss: Loss,
        run: RunSpec,
        inputs: Transform,
        rows: np.ndarray,
        labels: Tensor,
        *,
        steps: int,
        batch_size: int,
    ) -> None:
        """Train on `rows` of class `labels` (0..C-1) for so many steps.

        A batch has different classes, so it never has more than a few images of each class there is.
        """
        per_class = int(str(run.sampler.settings.get("per_class", PER_CLASS)))
        size = min(batch_size - batch_size % per_class, per_class * (int(labels.max()) + 1))
        miner = build_miner(run, loss)
        stepper = Stepper(
            model=model,
            loss=loss,
            miner=miner,
            regulariser=build_regulariser(run, loss, miner),
            optimiser=build_optimiser(run.optimiser, model, loss),
            generator=torch.Generator().manual_seed(child_seed(run.seed, "miner")),
        )
        loader = Loader(
            images=self.table.images,
            rows=rows,
            labels=labels,
            transform=inputs,
            sampler=build("sampler", run.sampler, {"labels": labels, "batch_size": size, "super_labels": None}),
            device=CPU,
            sampling=torch.Generator().manual_seed(child_seed(run.seed, "sampler")),
            augmenting=torch.Generator().manual_seed(child_seed(run.seed, "augment")),
        )
        rates = [float(group["lr"]) for group in stepper.optimiser.param_groups]
        model.train()
        loader.start_epoch()
        for step in range(steps):
            self.before_step()
            for group, rate in zip(stepper.optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
            stepper.step(loader.draw(is_last=step + 1 == steps))
