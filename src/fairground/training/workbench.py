"""One data set ready for adaptations: table, sealed test rows, frozen network, and its cached outputs."""

import hashlib
import json
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from fairground.contracts.model import Transform, Trunk
from fairground.contracts.table import Images
from fairground.errors import DataError, require
from fairground.loading.read_ahead import read_ahead
from fairground.loading.resized_images import cache_root
from fairground.spec.identity import child_seed, to_plain
from fairground.spec.run import RunSpec
from fairground.training.adaptation import Adapter, CachedRows
from fairground.training.build import build, build_split, load_table, seeded
from fairground.training.seal import SealedRows
from fairground.training.stage_cache import StageCache

#: images read and embedded at once: few enough that a time limit is kept to a second or two
BLOCK = 32
PLAIN = "plain"
#: hears how many of how many rows are done
Tell = Callable[[int, int], None]
#: says whether another block may begin
IsTime = Callable[[], bool]
Read = Callable[[Images, np.ndarray], Tensor]
ALWAYS: IsTime = lambda: True  # noqa: E731
IGNORED: Tell = lambda *_: None  # noqa: E731


class Workbench:
    """`spec` says data, split, trunk and transform; `is_small` trains the trunk from scratch instead of freezing it."""

    def __init__(self, spec: RunSpec, *, is_small: bool, witness: Callable[[str], None] | None = None) -> None:
        self.spec, self.is_small = spec, is_small
        self.table = load_table(spec.data).table
        parts = build_split(spec.split).parts(self.table)
        require(not parts.is_closed_set, "recommend judges on unseen classes; leave out split.closed_set", DataError)
        rows = np.sort(np.concatenate([parts.train, parts.validation]))
        #: rows of the classes to learn from; every beginning of them has all classes
        self.seen = round_robin(rows, self.table.labels[rows], spec.seed)
        self.sealed = SealedRows(parts.test, witness=witness)
        self.n_test = len(parts.test)
        trunk = self.make_trunk(spec.seed)
        self.preprocessing = trunk.preprocessing
        self.transform: Transform = build("transform", spec.transform, {"preprocessing": trunk.preprocessing})
        #: the frozen network; none where features are given or a network is trained from scratch
        self.trunk: Trunk | None = trunk.eval() if self.table.images.is_picture and not is_small else None
        self.cache = None if self.trunk is None else self._cache(len(trunk.stages), (trunk.n_features,))
        self.adapter = Adapter(
            table=self.table,
            trunk=self.trunk,
            transform=self.transform,
            width=trunk.n_features,
            features=self.transform if self.cache is None else CachedRows(self.cache, [PLAIN]),
            make_trunk=self.make_trunk if is_small else None,
        )

    def make_trunk(self, seed: int) -> Trunk:
        """Return the trunk with its first weights, as the seed draws them or as they were published."""
        with seeded(seed, "init_trunk"):
            trunk: Trunk = build("trunk", self.spec.trunk, {"channels": self.table.images.channels})
        return trunk.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]

    def embed(self, rows: np.ndarray, *, is_time: IsTime = ALWAYS, tell: Tell = IGNORED) -> np.ndarray:
        """Cache the features of rows while there is time; return those rows whose features are cached."""
        if self.cache is None or self.trunk is None:
            self.table.images.prepare(tell)
            return rows
        self._fill(self.cache, PLAIN, self.trunk, rows, self._reader(0), is_time=is_time, tell=tell)
        return self.cache.readable(PLAIN, rows)

    def embed_maps(
        self, rows: np.ndarray, *, depth: int, views: int, is_time: IsTime = ALWAYS, tell: Tell = IGNORED
    ) -> bool:
        """Cache what the stages before the last `depth` make of rows, in several views; return whether all are done."""
        assert self.trunk is not None
        n_frozen = len(self.trunk.stages) - depth
        first_stages = nn.Sequential(*self.trunk.stages[:n_frozen])
        cache, names = self._cache(n_frozen, self.map_shape(depth)), [_view_name(view) for view in range(views)]
        for view, name in enumerate(names):
            before = view * len(rows)
            self._fill(
                cache,
                name,
                first_stages,
                rows,
                self._reader(view),
                is_time=is_time,
                tell=lambda done, of, before=before: tell(before + done, views * of),  # type: ignore[misc]
            )
        is_complete = all(len(cache.readable(name, rows)) == len(rows) for name in names)
        if is_complete and views >= self.n_views(depth):
            self.adapter.maps[depth] = CachedRows(cache, names)
        return is_complete

    def map_shape(self, depth: int) -> tuple[int, ...]:
        """Return the shape of what the stages before the last `depth` make of one image."""
        assert self.trunk is not None
        assert self.cache is not None
        hidden = self.transform.evaluate(self.table.images, self.cache.readable(PLAIN, self.seen)[:1])
        with torch.no_grad():
            for stage in list(self.trunk.stages)[: len(self.trunk.stages) - depth]:
                hidden = stage(hidden)
        return tuple(int(length) for length in hidden.shape[1:])

    def n_views(self, depth: int) -> int:
        """Return in how many views maps of a depth are trained on; 0 where there are none."""
        return len(self.adapter.maps[depth].views) if depth in self.adapter.maps else 0

    @torch.no_grad()
    def _fill(
        self,
        cache: StageCache,
        view: str,
        network: nn.Module,
        rows: np.ndarray,
        read: Read,
        *,
        is_time: IsTime,
        tell: Tell,
    ) -> None:
        """Fill a view of the cache in the order of `rows` while there is time; mark images that cannot be read."""
        network.eval()
        images, to_do = self.table.images, cache.missing(view, rows)
        blocks = [to_do[begin : begin + BLOCK] for begin in range(0, len(to_do), BLOCK)]

        def read_or_none(block: np.ndarray) -> Tensor | None:
            try:
                return read(images, block)
            except DataError:
                return None

        n_done = len(rows) - len(to_do)
        tell(n_done, len(rows))
        for block, inputs in zip(blocks, read_ahead(read_or_none, blocks), strict=False):
            if inputs is not None:
                cache.write(view, block, network(inputs))
            else:
                for row in block:
                    alone = read_or_none(np.array([row]))
                    if alone is None:
                        cache.refuse(view, int(row))
                    else:
                        cache.write(view, np.array([row]), network(alone))
            n_done += len(block)
            tell(n_done, len(rows))
            if not is_time():
                break

    def _reader(self, view: int) -> Read:
        """Return what reads rows for a view: the first plain, the others augmented, each block from its own seed."""
        transform = self.transform
        if view == 0:
            return transform.evaluate

        def read(images: Images, rows: np.ndarray) -> Tensor:
            seed = child_seed(1000 * view + int(rows[0]), "augment")
            return transform.train(images, rows, torch.Generator().manual_seed(seed))

        return read

    def _cache(self, n_frozen: int, shape: tuple[int, ...]) -> StageCache:
        """Return the cache of the first stages: features of all of them as floats, maps of fewer as halves."""
        assert self.trunk is not None
        weights, plain = self.trunk.weights_fingerprint, to_plain(self.spec)
        key = [self.table.images.fingerprint(), plain["trunk"], weights, plain["transform"], n_frozen]
        folder = hashlib.sha256(json.dumps(["workbench", *key]).encode()).hexdigest()[:32]
        return StageCache(
            folder=cache_root("stages") / folder,
            n_rows=len(self.table.labels),
            shape=shape,
            numbers="float32" if len(shape) == 1 else "float16",
            about={
                "trunk": self.spec.trunk.name,
                "n_frozen": n_frozen,
                "source": str(self.spec.data.settings.get("root", self.spec.data.name)),
            },
        )


def _view_name(view: int) -> str:
    return PLAIN if view == 0 else f"augmented-{view}"


def round_robin(rows: np.ndarray, labels: np.ndarray, seed: int) -> np.ndarray:
    """Return rows in an order of which every beginning has about as many of each class, drawn by the seed."""
    order = np.random.default_rng([seed, 7]).permutation(len(rows))
    turn = np.empty(len(rows), np.int64)
    for label in np.unique(labels):
        mine = order[labels[order] == label]
        turn[mine] = np.arange(len(mine))
    # Pairs first: one image of a class says nothing.
    ranked = np.lexsort((labels[order], turn[order] // 2))
    found: np.ndarray = rows[order[ranked]]
    return found
