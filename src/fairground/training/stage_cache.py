"""Outputs of frozen stages on disk, by view and row, filled by many processes at once.

A folder `<key>` has `index.json` and the rows of each view (see `CachedRows`), as halves: they differ from what was
computed by at most 1 part in 2048. View v of an image has its own random stream, named by v and the image's row, so
that all runs, splits and folds of the same data share one cache. The run's seed decides which view each step sees.
Images go through the network in groups of one fixed size, because the rounding of a convolution depends on the size of
its batch: results are bit-identical from one process or many, killed or not.
"""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from fairground.contracts import Augmentation, Device, Images, PlannedTransform
from fairground.errors import require
from fairground.files import LockedError, held, write_with_digest
from fairground.loading import CachedRows, cache_root, cache_writing, for_each, read_ahead, to_device
from fairground.loading.caches import INDEX, read_index, touch
from fairground.records import Listener, StagesCached, content_of
from fairground.spec import RunSpec, to_plain
from fairground.training import Assembled, StoppedError, half_of

#: raised whenever the same key would give other numbers, or another layout
_VERSION = 3
_REMEDY = "lower training.views or set training.views=0"
PLAIN = "plain"
#: rows that one process computes under one lock, and images that go through the frozen stages at once
CHUNK, _GROUP = 128, 16


@dataclass
class StageCache:
    """`shape` is what the frozen stages make of one image: (c, h, w), or (d,) for features; `numbers` their type."""

    folder: Path
    n_rows: int
    shape: tuple[int, ...]
    numbers: Literal["float16", "float32"] = "float16"
    #: further entries of the index, for lists of caches
    about: dict[str, str | int] = field(default_factory=dict)
    _views: dict[str, CachedRows] = field(default_factory=dict)

    @property
    def block_shape(self) -> tuple[int, ...]:
        return (*self.shape[1:], self.shape[0]) if len(self.shape) == 3 else self.shape

    @property
    def row_bytes(self) -> int:
        return np.dtype(self.numbers).itemsize * math.prod(self.shape)

    def missing(self, view: str, rows: np.ndarray) -> np.ndarray:
        return self.view(view).missing(rows)

    def readable(self, view: str, rows: np.ndarray) -> np.ndarray:
        return self.view(view).readable(rows)

    def read(self, view: str, rows: np.ndarray) -> np.ndarray:
        """Return what is kept of `rows` as (k, h, w, c), or (k, d)."""
        numbers = self.view(view).data.view(self.numbers).reshape(self.n_rows, *self.block_shape)
        return np.asarray(numbers[rows])

    def laid_out(self, blocks: np.ndarray, device: torch.device | None) -> Tensor:
        """Return blocks as the trunk wants them: floats (k, c, h, w), or (k, d)."""
        numbers = to_device(torch.from_numpy(blocks), device).float()
        return numbers.permute(0, 3, 1, 2) if numbers.ndim == 4 else numbers

    def write(self, view: str, rows: np.ndarray, outputs: Tensor) -> None:
        shape = tuple(outputs.shape[1:])
        complaint = f"the frozen stages give {shape} for training images but {self.shape} for evaluation"
        advice = "let the transform make one size of both, or set training.views=0"
        require(shape == self.shape, f"{complaint}, and a cache has one shape; {advice}")
        kept = outputs.to(getattr(torch, self.numbers))
        refusal = f"the frozen stages give numbers that {self.numbers} cannot represent; set training.views=0"
        require(bool(torch.isfinite(kept).all()), refusal)
        blocks = (kept.permute(0, 2, 3, 1) if kept.ndim == 4 else kept).contiguous().cpu().numpy()
        self.view(view).write(rows.tolist(), [block.tobytes() for block in blocks])

    @contextmanager
    def lock(self, view: str, chunk: int) -> Iterator[bool]:
        try:
            with held(self.folder / "locks" / f"{view}-{chunk:06d}.lock", "a chunk of the cache"):
                yield True
        except LockedError:
            yield False

    def view(self, name: str) -> CachedRows:
        """Return the rows of a view; those of a cache that was removed meanwhile are made again."""
        if name not in self._views or self._views[name].is_gone():
            with cache_writing(self.folder, _REMEDY):
                (self.folder / "locks").mkdir(parents=True, exist_ok=True)
            if saved_shape(self.folder) != self.shape:
                write_with_digest(self.folder / INDEX, {**self.about, "n": self.n_rows, "shape": list(self.shape)})
            touch(self.folder)
            self._views[name] = CachedRows(self.folder, name, np.full(self.n_rows, self.row_bytes), _REMEDY)
        return self._views[name]


@dataclass(kw_only=True)
class CachedViews(PlannedTransform):
    """In place of images, what frozen stages make of them: one of `views` per row trains, the plain one evaluates."""

    cache: StageCache
    views: Sequence[str]
    #: computes what is missing of these rows of these views before they are read
    fill: Callable[[Mapping[str, np.ndarray]], None] = lambda _: None

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator, device: Device = None) -> Augmentation:
        n = len(rows)
        chosen = torch.randint(len(self.views), (n,), generator=generator).numpy()
        return Augmentation(n, lambda part: self._read(rows[part], chosen[part], self.views, device))

    def evaluate(self, images: Images, rows: np.ndarray, device: Device = None) -> Tensor:
        return self._read(rows, np.zeros(len(rows), np.int64), [PLAIN], device)

    def _read(self, rows: np.ndarray, chosen: np.ndarray, views: Sequence[str], device: torch.device | None) -> Tensor:
        places = {views[number]: np.flatnonzero(chosen == number) for number in np.unique(chosen)}
        self.fill({view: rows[where] for view, where in places.items()})
        blocks = np.empty((len(rows), *self.cache.block_shape), self.cache.numbers)
        for view, where in places.items():
            blocks[where] = self.cache.read(view, rows[where])
        return self.cache.laid_out(blocks, device)


def prepare_inputs(parts: Assembled, *, listen: Listener, should_stop: Callable[[], bool] = lambda: False) -> Assembled:
    """Run the stages that do not train before the first batch."""
    filler = _Filler(parts=parts, cache=_cache_of(parts), listen=listen, should_stop=should_stop)
    names = [f"view-{number:04d}" for number in range(parts.spec.training.views)]
    filler.fill({**dict.fromkeys(names, parts.split.train), PLAIN: parts.split.validation})
    parts.model.trunk.is_past_frozen = True
    views = CachedViews(cache=filler.cache, views=names, fill=filler.fill)
    parts.loader.transform = views
    return replace(parts, transform=views)


@dataclass(kw_only=True)
class _Filler:
    """Computes what the frozen stages make of images, together with other processes that want the same."""

    parts: Assembled
    cache: StageCache
    listen: Listener
    should_stop: Callable[[], bool]

    def fill(self, wanted: Mapping[str, np.ndarray]) -> None:
        """Compute what is missing of these rows of these views; wait for what other processes are computing."""
        left = self._chunks(wanted)
        if not left:
            return
        self.parts.prepare_images(self.listen)
        total = sum(len(rows) for _, _, rows in left)
        self.cache.view(PLAIN).require_space(total * self.cache.row_bytes)
        begun = reported = time.monotonic()
        done = own = 0
        self._report(done, total, 0.0)
        while left:
            for view, number, rows in left:
                with self.cache.lock(view, number) as is_ours:
                    if is_ours:
                        # Another process may have computed some of them since.
                        self._compute(view, self.cache.missing(view, rows))
                        own, done = own + len(rows), done + len(rows)
                now = time.monotonic()
                if now - reported >= 1.0:
                    reported = now
                    self._report(done, total, own / (now - begun))
                if self.should_stop():
                    raise StoppedError
            left = self._chunks(wanted)
            done = total - sum(len(rows) for _, _, rows in left)
            if left:
                time.sleep(0.1)
        self._report(total, total, own / max(time.monotonic() - begun, 1e-9))

    def _report(self, done: int, total: int, images_per_second: float) -> None:
        n_bytes, folder = total * self.cache.row_bytes, str(self.cache.folder)
        self.listen(StagesCached(done, total, images_per_second, n_bytes, folder))

    def _chunks(self, wanted: Mapping[str, np.ndarray]) -> list[tuple[str, int, np.ndarray]]:
        """Return view, number and missing rows of each chunk of the data set that lacks some."""
        missing = {view: np.unique(self.cache.missing(view, rows)).tolist() for view, rows in wanted.items()}
        return [
            (view, number, np.array(list(members)))
            for view, rows in missing.items()
            for number, members in groupby(rows, lambda row: row // CHUNK)
        ]

    def _compute(self, view: str, rows: np.ndarray) -> None:
        groups = [rows[begin : begin + _GROUP] for begin in range(0, len(rows), _GROUP)]
        frozen = self.parts.model.frozen_output
        inputs = read_ahead(lambda group: self._inputs(view, group), groups)
        outputs = [frozen(some)[: len(group)] for some, group in zip(inputs, groups, strict=True)]
        if outputs:
            self.cache.write(view, rows, torch.cat(outputs))

    def _inputs(self, view: str, rows: np.ndarray) -> Tensor:
        """Return the images of one group, filled up to its fixed size with the first of them."""
        images, transform, device = self.parts.table.images, self.parts.transform, self.parts.device

        def augmented(row: int) -> Tensor:
            digest = hashlib.sha256(f"{view}/{row}".encode()).digest()
            generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
            return transform.plan(images, np.array([row]), generator, device).make(slice(0, 1))

        if view == PLAIN:
            found = transform.evaluate(images, rows, device)
        else:
            found = torch.cat(for_each(augmented, rows.tolist()))
        return torch.cat([found, found[:1].expand(_GROUP - len(rows), *found.shape[1:])])


def _cache_of(parts: Assembled) -> StageCache:
    spec = parts.spec
    plain, trunk, digest = to_plain(spec), parts.model.trunk, hashlib.sha256()
    for number in range(trunk.n_frozen):
        for name, tensor in trunk.stages[number].state_dict().items():
            digest.update(f"{number}/{name}{tuple(tensor.shape)}".encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
    half = half_of(spec.training.precision, parts.device)
    key: list[Any] = [parts.data_fingerprint, trunk.n_frozen, str(half or "full"), repr(trunk.preprocessing)]
    folder = folder_of(spec, *key, plain["data"], plain["transform"], plain["trunk"], digest.hexdigest())
    shape = saved_shape(folder)
    if shape is None:
        first = parts.transform.evaluate(parts.table.images, parts.split.train[:1], parts.device)
        shape = tuple(parts.model.frozen_output(first).shape[1:])
    about = {"version": _VERSION, **describe(spec, trunk.n_frozen)}
    return StageCache(folder, len(parts.table.labels), shape, about=about)


def folder_of(spec: RunSpec, *key: Any) -> Path:
    """Return the folder of a cache; data, transform and trunk from outside are part of its key by their source."""
    names = [part.name for part in (spec.data, spec.transform, spec.trunk) if ":" in part.name]
    content = content_of(spec, lambda: {}) if names else {}
    outside = sorted(item for item in content.items() if any(item[0].endswith(f" of {name}") for name in names))
    text = json.dumps([_VERSION, torch.__version__, *key, outside], sort_keys=True)
    return cache_root("stages") / hashlib.sha256(text.encode()).hexdigest()[:32]


def describe(spec: RunSpec, n_frozen: int) -> dict[str, str | int]:
    source = str(spec.data.settings.get("root", spec.data.name))
    return {"trunk": spec.trunk.name, "n_frozen": n_frozen, "source": source}


def saved_shape(folder: Path) -> tuple[int, ...] | None:
    index = read_index(folder)
    return tuple(index["shape"]) if index else None
