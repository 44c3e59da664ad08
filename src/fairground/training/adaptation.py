"""One network adapted to one data set: frozen features computed once, heads on them, or weights of the network trained.

Where the last stages alone train, what the others make of each image is computed once, with the features. Instead of
the images, these maps are then cropped and mirrored: convolutions move with their input, so that is nearly the same.
"""

import copy
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from fairground.contracts import Augmentation, DataError, Device, Head, Images, Transform, Trunk, require
from fairground.evaluation.embed import embed
from fairground.functional import class_scatter, principal_axes, principal_axes_of_few
from fairground.heads import IdentityHead, PldaHead, WhitenedHead
from fairground.loading.reading_threads import read_ahead
from fairground.spec import AdaptationSpec, ComponentSpec, RunSpec, to_plain
from fairground.training import PLAIN, CachedViews, EmbeddingModel, SealedRows, WeightAverage, n_frozen_stages
from fairground.training.assemble import build, build_loader, build_loss, build_stepper, load_table, seeded
from fairground.training.stage_cache import StageCache, describe, folder_of
from fairground.trunks.features import FeaturesTrunk

#: images read and embedded at once, on a CPU and on an accelerator: few enough that a time limit is kept
BLOCK, BLOCK_ON_DEVICE = 32, 128
PER_CLASS = 4
#: of the weights, what the last stages have at least that train on cached maps: most weights, and a fourth of the time
LAST_STAGES = 0.9
#: of the side of a cached map, what a crop has at least
LEAST_CROP = 0.6
#: steps over which rates rise; from then on they are constant and the average of the weights is used, so that a
#: training is the beginning of every longer one
WARMUP = 10
#: images that a head is fitted to after the network was trained: more would cost time and gain nothing
MOST_FITTED = 2000
#: heads by the dozen start from the principal axes or the scatter of the same rows: of 1,280 features, those of the
#: folds of two repeats are kept, of more features fewer
KEPT_STARTS = 16 * 1280**2
#: hears how many of how many rows are done
Tell = Callable[[int, int], None]
#: says whether another block may begin
IsTime = Callable[[], bool]
ALWAYS: IsTime = lambda: True  # noqa: E731
IGNORED: Tell = lambda *_: None  # noqa: E731


@dataclass(frozen=True)
class AdaptedModel:
    """`model`, on a `device`, takes what `inputs` gives of images: pixels, or features where `is_head` alone."""

    model: EmbeddingModel
    device: torch.device
    images: Images
    inputs: Transform
    is_head: bool
    normalise: bool

    def embed(self, rows: np.ndarray) -> Tensor:
        return embed(self.model, self.images, rows, self.inputs, device=self.device)


class Workbench:
    """`spec` says data, split, trunk and transform."""

    def __init__(
        self,
        spec: RunSpec,
        *,
        witness: Callable[[str], None] | None = None,
        device: torch.device = torch.device("cpu"),  # noqa: B008 - it cannot be changed
    ) -> None:
        self.spec, self.device = spec, device
        self.table = load_table(spec.data).table
        parts = build("split", spec.split).parts(self.table)
        require(not parts.is_closed_set, "recommend judges on unseen classes; leave out split.closed_set", DataError)
        rows = np.sort(np.concatenate([parts.train, parts.validation]))
        #: rows of the classes to learn from; every beginning of them has all classes
        self.seen = round_robin(rows, self.table.labels[rows], spec.seed)
        self.sealed = SealedRows(parts.test, witness=witness)
        self.n_test = len(parts.test)
        self.trunk = self.first_trunk(spec.seed).eval().to(device)
        self.transform: Transform = build("transform", spec.transform, {"preprocessing": self.trunk.preprocessing})
        #: none where features are given
        self.cache = self._cache((self.trunk.n_features,), "float32") if self.table.images.is_picture else None
        self.features: Transform = self.transform
        if self.cache is not None:
            self.features = CachedViews(cache=self.cache, views=[PLAIN], fill=self._fill)
        #: maps of the stages before the last, where those may train alone
        self.n_last = self._last_stages()
        self.maps = CroppedMaps(cache=self._map_cache(), views=[PLAIN]) if self.n_last else None
        self._starts: dict[tuple[str, bytes], Any] = {}

    def first_trunk(self, seed: int) -> Trunk:
        """Return the trunk with its first weights: as they were published, or as the seed draws them."""
        with seeded(seed, "init_trunk"):
            trunk: Trunk = build("trunk", self.spec.trunk, {"channels": self.table.images.channels})
        return trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    @torch.no_grad()
    def embed(self, rows: np.ndarray, *, is_time: IsTime = ALWAYS, tell: Tell = IGNORED) -> np.ndarray:
        """Cache the features of rows, in their order, while there is time; return the rows that are cached.

        Images that cannot be read are marked.
        """
        images, cache = self.table.images, self.cache
        images.prepare(tell)
        if cache is None:
            return rows

        def read(block: np.ndarray) -> Tensor | None:
            try:
                return self.transform.evaluate(images, block, self.device)
            except DataError:
                return None

        caches = [cache, *([self.maps.cache] if self.maps else [])]
        to_do = rows[np.isin(rows, np.concatenate([one.missing(PLAIN, rows) for one in caches]))]
        size = BLOCK if self.device.type == "cpu" else BLOCK_ON_DEVICE
        blocks = [to_do[begin : begin + size] for begin in range(0, len(to_do), size)]
        n_done = len(rows) - len(to_do)
        tell(n_done, len(rows))
        for block, inputs in zip(blocks, read_ahead(read, blocks), strict=False):
            # A block with an image that cannot be read is read again row by row.
            each = ((row, read(row)) for row in np.split(block, len(block)))
            for some, made in each if inputs is None else [(block, inputs)]:
                if made is None:
                    for one in caches:
                        one.view(PLAIN).refuse(int(some[0]))
                    continue
                maps = self.trunk.frozen_output(made)
                if self.maps:
                    self.maps.cache.write(PLAIN, some, maps)
                with past_frozen(self.trunk):
                    cache.write(PLAIN, some, self.trunk(maps))
            n_done += len(block)
            tell(n_done, len(rows))
            if not is_time():
                break
        return cache.readable(PLAIN, rows)

    def fit(
        self, spec: AdaptationSpec, rows: np.ndarray, before_step: Callable[[], None] = lambda: None
    ) -> AdaptedModel:
        training = Adaptation(self, spec, rows)
        for _ in range(spec.steps):
            before_step()
            training.step()
        return training.finished(spec.run.head)

    def _fill(self, wanted: Mapping[str, np.ndarray]) -> None:
        """Embed rows that were not embedded before, as those of an untrained network, when they are read."""
        for rows in wanted.values():
            self.embed(rows)

    def full_model(self, adapted: AdaptedModel) -> EmbeddingModel:
        """Return trunk and head as one network, from images or given features to embeddings."""
        trunk = copy.deepcopy(self.trunk if adapted.is_head else adapted.model.trunk)
        trunk.is_past_frozen = False
        return EmbeddingModel(trunk=trunk, head=adapted.model.head).eval()

    def started_head(self, run: RunSpec, rows: np.ndarray, labels: Tensor) -> Head:
        """Return the head of a run, fitted to the frozen features of rows; what many heads start from is kept."""
        head = self.head(run.head, run.seed)

        def start(kind: str, made: Callable[[Tensor], Any]) -> Any:
            key = (kind, rows.tobytes())
            if key not in self._starts:
                if len(self._starts) * self.trunk.n_features**2 >= KEPT_STARTS:
                    self._starts.pop(next(iter(self._starts)))
                self._starts[key] = made(self.features.evaluate(self.table.images, rows))
            return self._starts[key]

        if isinstance(head, WhitenedHead):
            head.start_from(start("axes", _principal_axes))
        elif isinstance(head, PldaHead):
            head.start_from(start("scatter", lambda features: class_scatter([features], labels)))
        else:
            fit_head(head, self.features.evaluate(self.table.images, rows) if head.needs_features else None, labels)
        return head

    def head(self, part: ComponentSpec, seed: int) -> Head:
        with seeded(seed, "init_head"):
            head: Head = build("head", part, {"n_features": self.trunk.n_features})
        return head

    def _last_stages(self) -> int:
        """Return how many stages train where the last do alone; 0 where the network has to train as a whole."""
        weights = [sum(weight.numel() for weight in stage.parameters()) for stage in self.trunk.stages]
        is_in_order = type(self.trunk).forward is Trunk.forward and "side" in self.spec.transform.settings
        if not self.trunk.weights_fingerprint or not is_in_order or len(weights) < 3:
            return 0
        return next(n for n in range(1, len(weights) + 1) if sum(weights[-n:]) >= LAST_STAGES * sum(weights))

    @torch.no_grad()
    def _map_cache(self) -> StageCache:
        self.trunk.n_frozen = len(self.trunk.stages) - self.n_last
        side = int(str(self.spec.transform.settings["side"]))
        shape = self.trunk.frozen_output(torch.zeros(1, 3, side, side, device=self.device)).shape[1:]
        return self._cache(tuple(shape), "float16")

    def _cache(self, shape: tuple[int, ...], numbers: Literal["float16", "float32"]) -> StageCache:
        weights, plain = self.trunk.weights_fingerprint, to_plain(self.spec)
        key = [
            "workbench",
            self.table.images.fingerprint(),
            plain["trunk"],
            weights,
            plain["transform"],
            self.spec.seed,
            shape,
        ]
        folder, about = folder_of(self.spec, *key), describe(self.spec, len(self.trunk.stages))
        return StageCache(folder, len(self.table.labels), shape, numbers, about)


@dataclass(kw_only=True)
class CroppedMaps(CachedViews):
    """Cached maps, of which a random square trains, mirrored half of the time; one size per batch."""

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        side, n = self.cache.shape[-1], len(rows)
        crop = int(torch.randint(math.ceil(LEAST_CROP * side), side + 1, (), generator=generator))
        tops, lefts = torch.randint(side - crop + 1, (2, n), generator=generator).tolist()
        is_mirrored = (torch.rand(n, generator=generator) < 0.5).tolist()

        def make(part: slice) -> Tensor:
            maps = self.evaluate(images, rows[part], device)
            pieces = zip(maps, tops[part], lefts[part], is_mirrored[part], strict=True)
            cut = [(one[:, y : y + crop, x : x + crop], mirror) for one, y, x, mirror in pieces]
            return torch.stack([piece.flip(2) if mirror else piece for piece, mirror in cut])

        return Augmentation(n, make)


class Adaptation:
    """One training on `rows`, step by step: of a head on frozen features, or of the network on images."""

    def __init__(self, bench: Workbench, spec: AdaptationSpec, rows: np.ndarray) -> None:
        self.bench, self.spec, self.rows, self.steps = bench, spec, rows, 0
        run, images = spec.run, bench.table.images
        self.is_head = spec.trains != "network"
        n_frozen = 0 if self.is_head else n_frozen_stages(run.training.trainable, bench.trunk, run.trunk.name)
        maps = bench.maps if n_frozen == bench.trunk.n_frozen else None
        self.inputs = bench.features if self.is_head else maps or bench.transform
        _, found = np.unique(bench.table.labels[rows], return_inverse=True)
        self.labels = torch.from_numpy(found.astype(np.int64))
        width = bench.trunk.n_features
        trunk = FeaturesTrunk(channels=width) if self.is_head else bench.first_trunk(run.seed)
        head = bench.started_head(run, rows, self.labels) if self.is_head else IdentityHead(n_features=width)
        frozen_norm = run.training.freeze_batch_norm
        made = EmbeddingModel(trunk=trunk, head=head, freeze_batch_norm=frozen_norm, n_frozen=n_frozen)
        self.model = made.to(bench.device).eval()
        self.model.trunk.is_past_frozen = self.inputs is maps
        self.loss = build_loss(run, head, bench.table, rows).to(bench.device)
        if spec.trains == "nothing":
            return
        decay = run.optimiser.average
        self.average = WeightAverage(self.model, decay) if decay else None
        if self.average is not None:
            self.average.start()
        self.stepper = build_stepper(run, self.model, self.loss, average=self.average)
        # A batch has different classes, so it never has more than a few images of each class there is.
        per_class, size = int(str(run.sampler.settings.get("per_class", PER_CLASS))), run.training.batch_size
        size = min(size - size % per_class, per_class * (int(self.labels.max()) + 1))
        supplied = {"labels": self.labels, "batch_size": size, "super_labels": None}
        self.loader = build_loader(run, images, rows, self.inputs, supplied, device=bench.device)
        self.rates = [float(group["lr"]) for group in self.stepper.optimiser.param_groups]
        self.loader.start_epoch()

    def step(self) -> None:
        if self.steps <= WARMUP:
            for group, rate in zip(self.stepper.optimiser.param_groups, self.rates, strict=True):
                group["lr"] = rate * min(1.0, (self.steps + 1) / WARMUP)
        self.model.train()
        self.stepper.step(self.loader.draw(is_last=False))
        self.model.eval()
        self.steps += 1

    def embedded(self, rows: np.ndarray, published: float = 0.0) -> Tensor:
        """Return what the weights to use make of rows: embeddings of a head, features of a network."""
        with self._used_weights(published):
            return embed(self.model, self.bench.table.images, rows, self.inputs, device=self.bench.device)

    def heads(self, parts: Sequence[ComponentSpec], published: float = 0.0, most: int = MOST_FITTED) -> Iterator[Head]:
        """Yield heads fitted to the trained features of at most so many rows; those that need none as they are."""
        some = np.arange(len(self.rows)) if len(self.rows) <= most else _spread(len(self.rows), most)
        heads = [self.bench.head(part, self.spec.run.seed) for part in parts]
        features = (
            self.embedded(self.rows[some], published).cpu() if any(head.needs_features for head in heads) else None
        )
        for head in heads:
            fit_head(head, features, self.labels[some])
            yield head

    def finished(self, head: ComponentSpec) -> AdaptedModel:
        """Return the model with the weights to use; that of a network has its head fitted."""
        published = self.spec.published
        if not self.is_head:
            (fitted,) = self.heads([head], published)
        with self._used_weights(published):
            model = copy.deepcopy(self.model)
        if not self.is_head:
            model.head = fitted.to(self.bench.device)
        # Untrained embeddings are compared at unit length, trained ones as their loss compares them.
        normalise = self.loss.on_sphere or self.spec.trains == "nothing"
        images, device = self.bench.table.images, self.bench.device
        return AdaptedModel(model.eval(), device, images, self.inputs, self.is_head, normalise)

    @contextmanager
    def _used_weights(self, published: float) -> Iterator[None]:
        """Put the average over steps into the model for a while, mixed with the published weights by their share."""
        if self.spec.trains == "nothing" or self.average is None:
            yield
            return
        with self.average.in_place(), torch.no_grad():
            if published:
                for weight, first in zip(self.model.trunk.parameters(), self.bench.trunk.parameters(), strict=True):
                    weight.lerp_(first, published)
            yield


@contextmanager
def past_frozen(trunk: Trunk) -> Iterator[None]:
    trunk.is_past_frozen = True
    try:
        yield
    finally:
        trunk.is_past_frozen = False


def fit_head(head: Head, features: Tensor | None, labels: Tensor) -> None:
    if features is not None and head.needs_labels:
        head.fit_classes([features], labels)
    elif features is not None and head.needs_features:
        head.fit([features])


def _principal_axes(features: Tensor) -> Any:
    is_few = features.shape[0] < features.shape[1]
    return principal_axes_of_few(features) if is_few else principal_axes([features], standardise=False)


def _spread(n: int, most: int) -> np.ndarray:
    return np.linspace(0, n - 1, most).astype(np.int64)


def round_robin(rows: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """Return rows in an order of which every beginning has about as many of each class, drawn by the seed."""
    order = np.random.default_rng([seed, 7]).permutation(len(rows))
    turn = np.empty(len(rows), np.int64)
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        turn[mine] = np.arange(len(mine))
    # Pairs first: a class with one image has nothing to find.
    return np.asarray(rows[order[np.lexsort((labels[order], turn[order] // 2))]])
