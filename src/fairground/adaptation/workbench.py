"""What methods are measured with on one data set: table, sealed test rows, frozen network, cached features."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairground.adaptation.adapter import Adapter
from fairground.adaptation.array_cache import ArrayCache
from fairground.adaptation.class_folds import MOST_FOLDS, ClassFolds
from fairground.adaptation.embedding import Tell, evaluation_inputs, fill, round_robin
from fairground.adaptation.inputs import CachedMaps
from fairground.adaptation.last_stages import first_stages
from fairground.contracts.model import Transform, Trunk
from fairground.contracts.table import Images
from fairground.errors import DataError, require
from fairground.spec.identity import child_seed, to_plain
from fairground.spec.run import RunSpec
from fairground.training.build import build, build_dataset, build_split
from fairground.training.seal import SealedRows

#: bytes that cached maps may take in all
MOST_BYTES = 2_000_000_000


class Workbench:
    """`spec` says data, split, trunk and transform; `is_small` trains the trunk from nothing, none is frozen."""

    def __init__(self, spec: RunSpec, *, is_small: bool, witness: Callable[[str], None] | None = None) -> None:
        self.spec, self.is_small = spec, is_small
        self.table = build_dataset(spec.data).load()
        parts = build_split(spec.split).parts(self.table)
        require(not parts.is_closed_set, "recommend judges on unseen classes; leave out split.closed_set", DataError)
        rows = np.sort(np.concatenate([parts.train, parts.validation]))
        #: rows of the classes to learn from, in an order of which every beginning has all classes
        self.seen = round_robin(rows, self.table.labels[rows], spec.seed)
        self.sealed = SealedRows(parts.test, witness=witness)
        self.n_test, self.n_test_classes = len(parts.test), len(np.unique(self.table.labels[parts.test]))
        self.is_picture = self.table.images.is_picture
        trunk = self.make_trunk(spec.seed)
        self.width = trunk.n_features
        #: the frozen network; none where features are given or a network is trained from nothing
        self.trunk: Trunk | None = trunk.eval() if self.is_picture and not is_small else None
        self.transform: Transform = build("transform", spec.transform, {"preprocessing": trunk.preprocessing})
        self.preprocessing = trunk.preprocessing
        self.cache: ArrayCache | None = None
        self._maps: dict[int, list[ArrayCache]] = {}
        self.adapter = Adapter(
            table=self.table,
            trunk=self.trunk,
            transform=self.transform,
            features=None if self.is_picture else self._given_features(),
            maps={},
            make_trunk=self.make_trunk if is_small else None,
        )
        if self.trunk is not None:
            self._fingerprint = self.table.images.fingerprint()
            self.cache = self._array("features", (self.trunk.n_features,), "float32")
            self.adapter.features = self.cache.values

    def make_trunk(self, seed: int) -> Trunk:
        """Return the trunk with its first weights, as the seed draws them or as they were published."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(child_seed(seed, "init_trunk"))
            trunk: Trunk = build("trunk", self.spec.trunk, {"channels": self.table.images.channels})
        return trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]

    def embed(self, rows: np.ndarray, *, is_time: Callable[[], bool], tell: Tell) -> np.ndarray:
        """Return those of the rows that are embedded once there is no time or nothing left to do."""
        if self.cache is None or self.trunk is None:
            self.table.images.prepare(tell)
            return rows
        read = evaluation_inputs(self.transform)
        fill(self.cache, self.trunk, self.table.images, rows, read, is_time=is_time, tell=tell)
        return self.cache.readable(rows)

    def folds(self, rows: np.ndarray) -> ClassFolds:
        """Return the class folds of some rows: two where each is a training of the network from nothing."""
        most = 2 if self.is_small else MOST_FOLDS
        return ClassFolds(rows=rows, labels=self.table.labels[rows], seed=self.spec.seed, most_folds=most)

    def map_shape(self, depth: int) -> tuple[int, ...]:
        """Return the shape of what the stages before the last `depth` give of one image."""
        assert self.trunk is not None
        rows = self.seen[:1] if self.cache is None else self.cache.readable(self.seen)[:1]
        with torch.no_grad():
            found = first_stages(self.trunk, depth).eval()(self.transform.evaluate(self.table.images, rows))
        return tuple(int(length) for length in found.shape[1:])

    def embed_maps(self, rows: np.ndarray, *, depth: int, views: int, is_time: Callable[[], bool], tell: Tell) -> bool:
        """Cache what the first stages give of rows, in several views; return whether all are there."""
        assert self.trunk is not None
        network, shape = first_stages(self.trunk, depth), self.map_shape(depth)
        caches = self._maps.setdefault(depth, [])
        while len(caches) < views:
            caches.append(self._array(f"maps {depth} view {len(caches)}", shape, "float16"))
        for view, cache in enumerate(caches[:views]):
            before = view * len(rows)
            fill(
                cache,
                network,
                self.table.images,
                rows,
                self._view(view),
                is_time=is_time,
                tell=_after(before, views, tell),
            )
        is_complete = all(len(cache.readable(rows)) == len(rows) for cache in caches[:views])
        had = self.n_views(depth)
        if is_complete and views >= had:
            self.adapter.maps = {**self.adapter.maps, depth: CachedMaps([cache.values for cache in caches[:views]])}
        return is_complete

    def n_views(self, depth: int) -> int:
        """Return in how many views maps of a depth are trained on; 0 where none are."""
        found = self.adapter.maps.get(depth)
        return len(found.views) if isinstance(found, CachedMaps) else 0

    def _view(self, view: int) -> Callable[[Images, np.ndarray], Tensor]:
        """Return what reads rows for a view: the first plain, the others augmented, the same whenever they are made."""
        transform = self.transform
        if view == 0:
            return evaluation_inputs(transform)

        def read(images: Images, rows: np.ndarray) -> Tensor:
            seed = child_seed(1000 * view + int(rows[0]), "augment")
            return transform.train(images, rows, torch.Generator().manual_seed(seed))

        return read

    def _array(self, what: str, shape: tuple[int, ...], dtype: str) -> ArrayCache:
        assert self.trunk is not None
        plain = to_plain(self.spec)
        key = [what, self._fingerprint, plain["trunk"], self.trunk.weights_fingerprint, plain["transform"]]
        return ArrayCache(json.loads(json.dumps(key)), n=len(self.table.labels), shape=shape, dtype=dtype)

    def _given_features(self) -> np.ndarray:
        images = self.table.images
        return images.take(np.arange(len(images))).float().numpy()


def _after(before: int, views: int, tell: Tell) -> Tell:
    """Return what hears of one view and tells of all."""
    return lambda done, of: tell(before + done, views * of)


def cached_bytes(shape: Sequence[int], n: int, views: int) -> int:
    """Return what maps of so many images take."""
    return int(np.prod(shape)) * 2 * n * views


def cache_place(cache: ArrayCache) -> Path:
    """Return the folder that all cached features lie in."""
    return cache.folder.parent
