"""A pretrained network on new classes: a head on its cached features, then perhaps its last stages with the head.

Unlike a run, such a training is a number of steps and has no validation, checkpoint or record of its own. The rate of
step t of T is lr_t = lr (1 + cos(pi t / T)) / 2.
"""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts import Head, Images, Loss, Transform, Trunk
from fairground.errors import DataError, require
from fairground.evaluation.embed import embed
from fairground.functional import class_scatter, principal_axes, principal_axes_of_few
from fairground.heads.pca import PcaHead
from fairground.heads.plda import PldaHead
from fairground.heads.whitened import WhitenedHead
from fairground.loading.reading_threads import read_ahead
from fairground.spec import ALL, AdaptationSpec, RunSpec, child_seed, to_plain
from fairground.training import PLAIN, CachedViews, EmbeddingModel, SealedRows, StageCache, describe, folder_of
from fairground.training.assemble import build, build_loader, build_loss, build_stepper, load_table, seeded
from fairground.trunks.features import FeaturesTrunk

#: images read and embedded at once, on a CPU and on an accelerator: few enough that a time limit is kept
BLOCK, BLOCK_ON_DEVICE = 32, 128
PER_CLASS = 4
#: images of a batch where stages of the network are trained
STAGE_BATCH = 32
#: the folds of two repeats: heads by the dozen start from the principal axes or the scatter of the same rows
KEPT_STARTS = 16
#: hears how many of how many rows are done
Tell = Callable[[int, int], None]
#: says whether another block may begin
IsTime = Callable[[], bool]
ALWAYS: IsTime = lambda: True  # noqa: E731
IGNORED: Tell = lambda *_: None  # noqa: E731


@dataclass(frozen=True)
class AdaptedModel:
    """`model`, on a `device`, takes what `inputs` gives of images; `depth` stages of it are trained."""

    model: EmbeddingModel
    device: torch.device
    images: Images
    inputs: Transform
    depth: int
    normalise: bool

    def embed(self, rows: np.ndarray) -> Tensor:
        return embed(self.model, self.images, rows, self.inputs, device=self.device)


class Workbench:
    """`spec` says data, split, trunk and transform; `is_small` trains the trunk from scratch instead of freezing it."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        is_small: bool,
        witness: Callable[[str], None] | None = None,
        device: torch.device = torch.device("cpu"),  # noqa: B008 - it cannot be changed
    ) -> None:
        self.spec, self.is_small, self.device = spec, is_small, device
        self.table = load_table(spec.data).table
        parts = build("split", spec.split).parts(self.table)
        require(not parts.is_closed_set, "recommend judges on unseen classes; leave out split.closed_set", DataError)
        rows = np.sort(np.concatenate([parts.train, parts.validation]))
        #: rows of the classes to learn from; every beginning of them has all classes
        self.seen = round_robin(rows, self.table.labels[rows], spec.seed)
        self.sealed = SealedRows(parts.test, witness=witness)
        self.n_test = len(parts.test)
        trunk = self._make_trunk(spec.seed)
        self.width, self.preprocessing = trunk.n_features, trunk.preprocessing
        self.transform: Transform = build("transform", spec.transform, {"preprocessing": trunk.preprocessing})
        #: the frozen network; none where features are given or a network is trained from scratch
        self.trunk: Trunk | None = trunk.eval().to(device) if self.table.images.is_picture and not is_small else None
        self.cache = None if self.trunk is None else self._cache(len(trunk.stages), (trunk.n_features,))
        #: what a head is trained on, and the inputs of the last stages by their number
        self.features = self.transform if self.cache is None else CachedViews(cache=self.cache, views=[PLAIN])
        self.maps: dict[int, CachedViews] = {}
        #: called before every step; an error it raises ends the training
        self.before_step: Callable[[], None] = lambda: None
        self._starts: dict[tuple[str, bytes], Any] = {}

    def embed(self, rows: np.ndarray, *, is_time: IsTime = ALWAYS, tell: Tell = IGNORED) -> np.ndarray:
        """Cache the features of rows while there is time; return those rows whose features are cached."""
        if self.cache is None or self.trunk is None:
            self.table.images.prepare(tell)
            return rows
        self._fill(self.cache, 0, self.trunk, rows, is_time, tell)
        return self.cache.readable(PLAIN, rows)

    def embed_maps(
        self, rows: np.ndarray, *, depth: int, views: int, is_time: IsTime = ALWAYS, tell: Tell = IGNORED
    ) -> bool:
        """Cache what the stages before the last `depth` make of rows, in several views; return whether all are done."""
        assert self.trunk is not None
        n_frozen, total = len(self.trunk.stages) - depth, views * len(rows)
        first_stages, cache = nn.Sequential(*self.trunk.stages[:n_frozen]), self._cache(n_frozen, self.map_shape(depth))
        for view in range(views):

            def tell_all(done: int, of: int, view: int = view) -> None:
                tell(view * of + done, total)

            self._fill(cache, view, first_stages, rows, is_time, tell_all)
        names = [_view_name(view) for view in range(views)]
        is_complete = all(len(cache.readable(name, rows)) == len(rows) for name in names)
        if is_complete and views >= self.n_views(depth):
            self.maps[depth] = CachedViews(cache=cache, views=names)
        return is_complete

    def map_shape(self, depth: int) -> tuple[int, ...]:
        assert self.trunk is not None
        assert self.cache is not None
        image = self.transform.evaluate(self.table.images, self.cache.readable(PLAIN, self.seen)[:1], self.device)
        with torch.no_grad():
            return tuple(nn.Sequential(*self.trunk.stages[: len(self.trunk.stages) - depth])(image).shape[1:])

    def n_views(self, depth: int) -> int:
        return len(self.maps[depth].views) if depth in self.maps else 0

    def fit(self, spec: AdaptationSpec, rows: np.ndarray) -> AdaptedModel:
        run = spec.run
        _, found = np.unique(self.table.labels[rows], return_inverse=True)
        labels = torch.from_numpy(found.astype(np.int64))
        trunk, head = self._first_trunk(run), self._started_head(run, rows, labels)
        loss = build_loss(run, {"n_classes": int(labels.max()) + 1, "embedding_dim": head.embedding_dim})
        loss.to(self.device)
        model, inputs, depth = EmbeddingModel(trunk=trunk, head=head).to(self.device), self.features, 0
        self._train(model, loss, run, inputs, (rows, labels), spec.steps)
        if self.is_small:
            inputs, depth = self.transform, ALL
            self._train(model, loss, run, inputs, (rows, labels), spec.depth_steps)
        elif spec.depth:
            require(self.trunk is not None, "features have no stages to train")
            trunk, depth = copy.deepcopy(self.trunk or trunk), spec.depth
            trunk.is_past_frozen = depth != ALL
            n_frozen = 0 if depth == ALL else len(trunk.stages) - depth
            model = EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm="stats", n_frozen=n_frozen)
            inputs, rates = self.transform if depth == ALL else self.maps[depth], run.optimiser
            gentle = replace(rates, lr=spec.depth_lr, head_lr=rates.lr / 10, loss_lr=(rates.loss_lr or rates.lr) / 10)
            slow = replace(run, optimiser=gentle, training=replace(run.training, batch_size=STAGE_BATCH))
            self._train(model, loss, slow, inputs, (rows, labels), spec.depth_steps)
        # Untrained embeddings are compared at unit length, trained ones as their loss compares them.
        normalise = loss.on_sphere or not spec.is_trained
        return AdaptedModel(model.eval(), self.device, self.table.images, inputs, depth, normalise)

    def untrained(self, run: RunSpec) -> AdaptedModel:
        model = EmbeddingModel(trunk=self._first_trunk(run), head=self._head(run)).eval().to(self.device)
        depth = ALL if self.is_small else 0
        return AdaptedModel(model, self.device, self.table.images, self.transform, depth, normalise=True)

    def full_model(self, adapted: AdaptedModel) -> EmbeddingModel:
        """Return trunk and head as one network, from images or given features to embeddings."""
        is_head_alone = adapted.depth == 0 and self.trunk is not None
        trunk = copy.deepcopy(self.trunk if is_head_alone else adapted.model.trunk)
        assert trunk is not None
        trunk.is_past_frozen = False
        return EmbeddingModel(trunk=trunk, head=adapted.model.head).eval()

    def _make_trunk(self, seed: int) -> Trunk:
        """Return the trunk with its first weights, as the seed draws them or as they were published."""
        with seeded(seed, "init_trunk"):
            trunk: Trunk = build("trunk", self.spec.trunk, {"channels": self.table.images.channels})
        return trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def _first_trunk(self, run: RunSpec) -> Trunk:
        return self._make_trunk(run.seed) if self.is_small else FeaturesTrunk(channels=self.width)

    def _head(self, run: RunSpec) -> Head:
        with seeded(run.seed, "init_head"):
            head: Head = build("head", run.head, {"n_features": self.width})
        return head

    def _started_head(self, run: RunSpec, rows: np.ndarray, labels: Tensor) -> Head:
        head = self._head(run)
        if isinstance(head, PcaHead | WhitenedHead) and not getattr(head, "standardise", False):
            head.start_from(self._start("axes", rows, labels))
        elif isinstance(head, PldaHead):
            head.start_from(self._start("scatter", rows, labels))
        elif head.needs_labels:
            head.fit_classes([self.features.evaluate(self.table.images, rows)], labels)
        elif head.needs_features:
            head.fit([self.features.evaluate(self.table.images, rows)])
        return head

    def _start(self, kind: str, rows: np.ndarray, labels: Tensor) -> Any:
        """Return what heads of a kind start from on these rows; the last few are kept."""
        key = (kind, rows.tobytes())
        if key not in self._starts:
            if len(self._starts) >= KEPT_STARTS:
                self._starts.pop(next(iter(self._starts)))
            features = self.features.evaluate(self.table.images, rows)
            if kind == "scatter":
                self._starts[key] = class_scatter([features], labels)
            elif features.shape[0] < features.shape[1]:
                self._starts[key] = principal_axes_of_few(features)
            else:
                self._starts[key] = principal_axes([features], standardise=False)
        return self._starts[key]

    def _train(
        self,
        model: EmbeddingModel,
        loss: Loss,
        run: RunSpec,
        inputs: Transform,
        of: tuple[np.ndarray, Tensor],
        steps: int,
    ) -> None:
        """Train on rows and their classes (0..C-1) for so many steps."""
        if not steps:
            return
        rows, labels = of
        # A batch has different classes, so it never has more than a few images of each class there is.
        per_class, batch_size = int(str(run.sampler.settings.get("per_class", PER_CLASS))), run.training.batch_size
        size = min(batch_size - batch_size % per_class, per_class * (int(labels.max()) + 1))
        stepper = build_stepper(run, model, loss)
        supplied = {"labels": labels, "batch_size": size, "super_labels": None}
        loader = build_loader(run, self.table.images, rows, inputs, supplied, device=self.device)
        rates = [float(group["lr"]) for group in stepper.optimiser.param_groups]
        model.train()
        loader.start_epoch()
        for step in range(steps):
            self.before_step()
            for group, rate in zip(stepper.optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * (1 + math.cos(math.pi * step / steps)) / 2
            stepper.step(loader.draw(is_last=step + 1 == steps))

    @torch.no_grad()
    def _fill(
        self, cache: StageCache, view: int, network: nn.Module, rows: np.ndarray, is_time: IsTime, tell: Tell
    ) -> None:
        """Fill a view, plain or augmented, in the order of `rows` while there is time; mark unreadable images."""
        network.eval()
        images, name = self.table.images, _view_name(view)

        def read(block: np.ndarray) -> Tensor | None:
            try:
                if view == 0:
                    return self.transform.evaluate(images, block, self.device)
                generator = torch.Generator().manual_seed(child_seed(1000 * view + int(block[0]), "augment"))
                return self.transform.plan(images, block, generator, self.device).make(slice(0, len(block)))
            except DataError:
                return None

        to_do = cache.missing(name, rows)
        size = BLOCK if self.device.type == "cpu" else BLOCK_ON_DEVICE
        blocks = [to_do[begin : begin + size] for begin in range(0, len(to_do), size)]
        n_done = len(rows) - len(to_do)
        tell(n_done, len(rows))
        for block, inputs in zip(blocks, read_ahead(read, blocks), strict=False):
            # A block with an image that cannot be read is read again row by row.
            each = ((row, read(row)) for row in np.split(block, len(block)))
            for some, made in each if inputs is None else [(block, inputs)]:
                if made is None:
                    cache.view(name).refuse(int(some[0]))
                else:
                    cache.write(name, some, network(made))
            n_done += len(block)
            tell(n_done, len(rows))
            if not is_time():
                break

    def _cache(self, n_frozen: int, shape: tuple[int, ...]) -> StageCache:
        """Return the cache of the first stages: features of all of them as floats, maps of fewer as halves."""
        assert self.trunk is not None
        weights, plain = self.trunk.weights_fingerprint, to_plain(self.spec)
        key = ["workbench", self.table.images.fingerprint(), plain["trunk"], weights, plain["transform"], n_frozen]
        folder, about = folder_of(self.spec, *key), describe(self.spec, n_frozen)
        return StageCache(folder, len(self.table.labels), shape, "float32" if len(shape) == 1 else "float16", about)


def _view_name(view: int) -> str:
    return PLAIN if view == 0 else f"augmented-{view}"


def round_robin(rows: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """Return rows in an order of which every beginning has about as many of each class, drawn by the seed."""
    order = np.random.default_rng([seed, 7]).permutation(len(rows))
    turn = np.empty(len(rows), np.int64)
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        turn[mine] = np.arange(len(mine))
    # Pairs first: a class with one image has nothing to find.
    return np.asarray(rows[order[np.lexsort((labels[order], turn[order] // 2))]])
