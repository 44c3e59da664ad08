"""From an adaptation's spec to a trained network: head on cached features, then last stages, then embeddings."""

import copy
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from fairground.adaptation.inputs import AugmentedImages, CachedFeatures, TrainingInputs
from fairground.adaptation.last_stages import LastStages, put_back
from fairground.adaptation.train import Tick, seeded_loss, train_steps
from fairground.contracts.loss import Loss
from fairground.contracts.model import Head, Transform, Trunk
from fairground.contracts.table import ImageTable
from fairground.errors import require
from fairground.functional.class_scatter import ClassScatter, class_scatter
from fairground.functional.spectral import PrincipalAxes, principal_axes
from fairground.heads.pca import PcaHead
from fairground.heads.plda import PldaHead
from fairground.heads.whitened import WhitenedHead
from fairground.spec.adaptation import ALL, AdaptationSpec
from fairground.spec.identity import child_seed
from fairground.training.build import build
from fairground.training.model import EmbeddingModel
from fairground.trunks.features import FeaturesTrunk

#: rows that go through a network at once
BLOCK = 256
#: sets of features whose principal axes and scatter are kept: the folds of two repeats, 13 and 26 MB each for 1280
#: features
KEPT_SETS = 8


@dataclass(frozen=True, kw_only=True)
class AdaptedModel:
    """A network on the table's cached inputs: `model` takes what `inputs` gives, `depth` stages of it are trained."""

    model: EmbeddingModel
    inputs: TrainingInputs
    depth: int
    normalise: bool

    @torch.no_grad()
    def embed(self, rows: np.ndarray, tick: Tick = lambda: None) -> Tensor:
        """Return the embeddings (n, d) of rows of the table."""
        self.model.eval()
        blocks = []
        for begin in range(0, len(rows), BLOCK):
            tick()
            blocks.append(self.model(self.inputs.evaluate(rows[begin : begin + BLOCK])))
        return torch.cat(blocks)


@dataclass
class Adapter:
    """Fits adaptations to rows of one table.

    `trunk` is the frozen network, none for features; `features` (n, d) is what it gives of every row. `maps` has the
    cached outputs of the first stages by how many last stages they leave; `make_trunk` makes one to train from nothing.
    """

    table: ImageTable
    trunk: Trunk | None
    transform: Transform
    features: np.ndarray | None
    maps: Mapping[int, TrainingInputs]
    make_trunk: Callable[[int], Trunk] | None = None
    tick: Tick = lambda: None
    _axes: dict[bytes, PrincipalAxes] = field(default_factory=dict)
    _scatters: dict[bytes, ClassScatter] = field(default_factory=dict)

    def fit(self, spec: AdaptationSpec, rows: np.ndarray) -> AdaptedModel:
        """Return the network adapted to these rows and to nothing else."""
        _, found = np.unique(self.table.labels[rows], return_inverse=True)
        labels = torch.from_numpy(found.astype(np.int64))
        if self.make_trunk is not None:
            return self._from_nothing(spec, rows, labels)
        assert self.features is not None
        inputs = CachedFeatures(self.features)
        width = int(self.features.shape[1])
        head = self._head(spec, width, inputs.evaluate(rows), labels)
        loss = seeded_loss(spec.run, n_classes=int(labels.max()) + 1, embedding_dim=head.embedding_dim)
        model = EmbeddingModel(trunk=FeaturesTrunk(channels=width), head=head)
        if spec.steps:
            size = spec.run.training.batch_size
            train_steps(model, loss, spec.run, inputs, rows, labels, steps=spec.steps, batch_size=size, tick=self.tick)
        if spec.depth:
            return self._with_stages(spec, head, loss, rows, labels)
        return AdaptedModel(model=model.eval(), inputs=inputs, depth=0, normalise=_normalise(spec, loss))

    def untrained(self, spec: AdaptationSpec, width: int) -> AdaptedModel:
        """Return the network as it is with a head that needs no features."""
        if self.make_trunk is not None:
            trunk: Trunk = self.make_trunk(spec.run.seed)
        else:
            trunk = FeaturesTrunk(channels=width)
        model = EmbeddingModel(trunk=trunk, head=self._head(spec, width, torch.zeros(0), torch.zeros(0)))
        inputs = AugmentedImages(self.table.images, self.transform)
        return AdaptedModel(
            model=model.eval(), inputs=inputs, depth=0 if self.trunk is not None else ALL, normalise=True
        )

    def full_model(self, adapted: AdaptedModel) -> EmbeddingModel:
        """Return trunk and head as one network, from pictures or features to embeddings."""
        trunk = adapted.model.trunk
        if adapted.depth == 0 and self.trunk is not None:
            trunk = copy.deepcopy(self.trunk)
        elif isinstance(trunk, LastStages):
            assert self.trunk is not None
            trunk = put_back(self.trunk, trunk)
        return EmbeddingModel(trunk=trunk, head=adapted.model.head).eval()

    def _head(self, spec: AdaptationSpec, width: int, features: Tensor, labels: Tensor) -> Head:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(spec.run.seed, "init_head"))
            head: Head = build("head", spec.run.head, {"n_features": width})
        if isinstance(head, PcaHead | WhitenedHead) and not getattr(head, "standardise", False):
            head.start_from(self._axes_of(features))
        elif isinstance(head, PldaHead):
            head.start_from(self._scatter_of(features, labels))
        elif head.needs_labels:
            head.fit_classes([features], labels)
        elif head.needs_features:
            head.fit([features])
        return head

    def _scatter_of(self, features: Tensor, labels: Tensor) -> ClassScatter:
        """Return the scatter of these features by class; that of the last few sets is kept, too."""
        key = hashlib.sha256(features.numpy().tobytes() + labels.numpy().tobytes()).digest()
        if key not in self._scatters:
            while len(self._scatters) >= KEPT_SETS:
                self._scatters.pop(next(iter(self._scatters)))
            self._scatters[key] = class_scatter([features], labels)
        return self._scatters[key]

    def _axes_of(self, features: Tensor) -> PrincipalAxes:
        """Return the principal axes of these features; those of the last few sets are kept: many heads start there."""
        key = hashlib.sha256(features.numpy().tobytes()).digest()
        if key not in self._axes:
            while len(self._axes) >= KEPT_SETS:
                self._axes.pop(next(iter(self._axes)))
            is_wide = features.shape[0] < features.shape[1]
            self._axes[key] = axes_of_few(features) if is_wide else principal_axes([features], standardise=False)
        return self._axes[key]

    def _with_stages(
        self, spec: AdaptationSpec, head: Head, loss: Loss, rows: np.ndarray, labels: Tensor
    ) -> AdaptedModel:
        require(self.trunk is not None, "features have no stages to train")
        assert self.trunk is not None
        trunk: Trunk
        inputs: TrainingInputs
        if spec.depth == ALL:
            trunk, inputs = copy.deepcopy(self.trunk), AugmentedImages(self.table.images, self.transform)
        else:
            trunk, inputs = LastStages(self.trunk, spec.depth), self.maps[spec.depth]
        model = EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm="stats")
        rates = spec.run.optimiser
        gentle = replace(rates, lr=spec.depth_lr, head_lr=rates.lr / 10, loss_lr=(rates.loss_lr or rates.lr) / 10)
        run = replace(spec.run, optimiser=gentle)
        train_steps(model, loss, run, inputs, rows, labels, steps=spec.depth_steps, batch_size=32, tick=self.tick)
        return AdaptedModel(model=model, inputs=inputs, depth=spec.depth, normalise=_normalise(spec, loss))

    def _from_nothing(self, spec: AdaptationSpec, rows: np.ndarray, labels: Tensor) -> AdaptedModel:
        assert self.make_trunk is not None
        inputs = AugmentedImages(self.table.images, self.transform)
        trunk = self.make_trunk(spec.run.seed)
        head = self._head(spec, trunk.n_features, torch.zeros(0), labels)
        loss = seeded_loss(spec.run, n_classes=int(labels.max()) + 1, embedding_dim=head.embedding_dim)
        model = EmbeddingModel(trunk=trunk, head=head)
        if spec.depth_steps:
            size = spec.run.training.batch_size
            train_steps(
                model, loss, spec.run, inputs, rows, labels, steps=spec.depth_steps, batch_size=size, tick=self.tick
            )
        return AdaptedModel(model=model.eval(), inputs=inputs, depth=ALL, normalise=_normalise(spec, loss))


def axes_of_few(features: Tensor) -> PrincipalAxes:
    """Return the first n principal axes of n features (n, d) with n < d, at a cost of n^2 d instead of d^3."""
    rows = features.double()
    mean = rows.mean(0)
    _, values, axes = torch.linalg.svd(rows - mean, full_matrices=False)
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    return PrincipalAxes(
        mean=mean,
        deviation=torch.ones_like(mean),
        axes=axes * largest.sign(),
        spread=values / len(rows) ** 0.5,
        n=len(rows),
    )


def _normalise(spec: AdaptationSpec, loss: Loss) -> bool:
    """Untrained embeddings are compared at unit length, trained ones as their loss compares them."""
    return loss.on_sphere or not spec.is_trained
