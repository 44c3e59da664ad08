"""Train on outputs of frozen stages that were computed once: some augmented views and one plain view per image.

View v of an image has its own random stream, named by v and the image's row: it is the same in every run, split and
fold of the same data, so all of them share one cache, and a run with more views computes only those that are new. The
run's seed decides which view each step sees. Images go through the network in groups of one fixed size, because the
rounding of a convolution depends on the size of its batch: results are bit-identical from one process or many, killed
or not.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairground.contracts.model import Augmentation, PlannedTransform, Transform
from fairground.contracts.table import Images
from fairground.loading.decoding import for_each
from fairground.loading.read_ahead import read_ahead
from fairground.loading.resized_images import cache_root
from fairground.records.events import ImagesPrepared, Listener, StagesCached
from fairground.spec.identity import to_plain
from fairground.spec.run import RunSpec
from fairground.training.assemble import Assembled
from fairground.training.loop import StoppedError
from fairground.training.model import EmbeddingModel
from fairground.training.stage_cache import CHUNK, StageCache, saved_shape

#: raised whenever the same key would give other numbers, or another layout
_VERSION = 2
#: images that go through the frozen stages at once
_GROUP = 16
PLAIN = "plain"
#: seconds between reports of progress
_SECONDS = 1.0


def prepare_inputs(
    parts: Assembled, spec: RunSpec, *, listen: Listener, should_stop: Callable[[], bool] = lambda: False
) -> Assembled:
    """Prepare images, and run the stages that do not train, before the first batch."""

    def prepare() -> None:
        parts.table.images.prepare(lambda done, total: listen(ImagesPrepared(n_done=done, n_images=total)))

    model = parts.model
    if model.trunk.n_frozen == 0 or spec.training.views == 0:
        prepare()
        return parts
    views = CachedViews(
        cache=_cache_of(parts, spec),
        transform=parts.transform,
        model=model,
        device=parts.device,
        n_views=spec.training.views,
        prepare=prepare,
        listen=listen,
        should_stop=should_stop,
    )
    wanted = {view_name(number): parts.split.train for number in range(spec.training.views)}
    views.fill(parts.table.images, {**wanted, PLAIN: parts.split.validation})
    model.trunk.is_past_frozen = True
    parts.loader.transform = views
    return replace(parts, transform=views)


def view_name(number: int) -> str:
    """Return the name of an augmented view."""
    return f"view-{number:04d}"


@dataclass(kw_only=True)
class CachedViews(PlannedTransform):
    """In place of images, what the frozen stages of `model` make of them after `transform`."""

    cache: StageCache
    transform: Transform
    model: EmbeddingModel
    device: torch.device
    n_views: int
    prepare: Callable[[], None]
    listen: Listener
    should_stop: Callable[[], bool]

    def plan(self, images: Images, rows: np.ndarray, generator: torch.Generator) -> Augmentation:
        """Let the generator choose one view of each row."""
        n = len(rows)
        chosen = torch.randint(self.n_views, (n,), generator=generator, device=generator.device).cpu().numpy()
        return Augmentation(n, lambda part: self._read(images, rows[part], chosen[part], generator.device))

    def _read(self, images: Images, rows: np.ndarray, chosen: np.ndarray, device: torch.device) -> Tensor:
        """Return the chosen view of each row."""
        picked = {view_name(int(number)): np.flatnonzero(chosen == number) for number in np.unique(chosen)}
        self.fill(images, {view: rows[places] for view, places in picked.items()})
        found = {view: self.cache.read(view, rows[places]) for view, places in picked.items()}
        blocks = np.empty((len(rows), *next(iter(found.values())).shape[1:]), np.float16)
        for view, places in picked.items():
            blocks[places] = found[view]
        return self.cache.laid_out(blocks, device)

    def evaluate(self, images: Images, rows: np.ndarray, device: torch.device | None = None) -> Tensor:
        """Return the plain view of each row."""
        self.fill(images, {PLAIN: rows})
        return self.cache.laid_out(self.cache.read(PLAIN, rows), device)

    def fill(self, images: Images, wanted: Mapping[str, np.ndarray]) -> None:
        """Compute what is missing of these rows of these views; wait for what other processes are computing."""
        left = [chunk for view, rows in wanted.items() for chunk in self._chunks(view, rows)]
        if not left:
            return
        self.prepare()
        total = sum(len(rows) for _, _, rows in left)
        self.cache.require_space(total)
        begun = reported = time.monotonic()
        done = own = 0
        self._report(done, total, 0.0)
        while left:
            busy = []
            for view, number, rows in left:
                with self.cache.lock(view, number) as is_ours:
                    if is_ours:
                        # Another process may have computed some of them since.
                        self._compute(images, view, self.cache.missing(view, rows))
                        own, done = own + len(rows), done + len(rows)
                    else:
                        busy.append((view, rows))
                now = time.monotonic()
                if now - reported >= _SECONDS:
                    reported = now
                    self._report(done, total, own / (now - begun))
                if self.should_stop():
                    raise StoppedError
            left = [chunk for view, rows in busy for chunk in self._chunks(view, rows)]
            done = total - sum(len(rows) for _, _, rows in left)
            if left:
                time.sleep(0.1)
        self._report(total, total, own / max(time.monotonic() - begun, 1e-9))

    def _report(self, done: int, total: int, images_per_second: float) -> None:
        self.listen(
            StagesCached(
                n_done=done,
                n_views=total,
                images_per_second=images_per_second,
                n_bytes=total * self.cache.row_bytes,
                folder=str(self.cache.folder),
            )
        )

    def _chunks(self, view: str, rows: np.ndarray) -> Iterator[tuple[str, int, np.ndarray]]:
        """Yield view, number and missing rows of each chunk of the data set that lacks some."""
        missing = np.unique(self.cache.missing(view, rows))
        for number, members in groupby(missing.tolist(), lambda row: row // CHUNK):
            yield view, number, np.array(list(members))

    def _compute(self, images: Images, view: str, rows: np.ndarray) -> None:
        groups = [rows[begin : begin + _GROUP] for begin in range(0, len(rows), _GROUP)]
        if not groups:
            return
        inputs = read_ahead(lambda group: self._inputs(images, view, group), groups)
        outputs = [self.model.frozen_output(some)[: len(group)] for some, group in zip(inputs, groups, strict=True)]
        self.cache.write(view, rows, torch.cat(outputs))

    def _inputs(self, images: Images, view: str, rows: np.ndarray) -> Tensor:
        """Return the images of one group, filled up to its fixed size with the first of them."""
        if view == PLAIN:
            found = self.transform.evaluate(images, rows, self.device)
        else:
            found = torch.cat(for_each(lambda row: self._augmented(images, view, row), rows.tolist()))
        return torch.cat([found, found[:1].expand(_GROUP - len(rows), *found.shape[1:])])

    def _augmented(self, images: Images, view: str, row: int) -> Tensor:
        digest = hashlib.sha256(f"{view}/{row}".encode()).digest()
        generator = torch.Generator(self.device).manual_seed(int.from_bytes(digest[:8], "big") >> 1)
        return self.transform.train(images, np.array([row]), generator)


def _cache_of(parts: Assembled, spec: RunSpec) -> StageCache:
    plain, trunk = to_plain(spec), parts.model.trunk
    key: list[Any] = [_VERSION, torch.__version__, parts.data_fingerprint, trunk.n_frozen, spec.training.precision]
    key += [plain[name] for name in ("data", "transform", "trunk")]
    key += [repr(trunk.preprocessing), _weights_digest(parts.model)]
    folder = cache_root("stages") / hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:32]
    shape = saved_shape(folder)
    if shape is None:
        first = parts.transform.evaluate(parts.table.images, parts.split.train[:1], parts.device)
        shape = tuple(parts.model.frozen_output(first).shape[1:])
    about: dict[str, str | int] = {
        "version": _VERSION,
        "trunk": spec.trunk.name,
        "n_frozen": trunk.n_frozen,
        "source": str(spec.data.settings.get("root", spec.data.name)),
    }
    return StageCache(folder=folder, n_rows=len(parts.table.labels), shape=shape, about=about)


def _weights_digest(model: EmbeddingModel) -> str:
    digest = hashlib.sha256()
    for number in range(model.trunk.n_frozen):
        for name, tensor in model.trunk.stages[number].state_dict().items():
            digest.update(f"{number}/{name}{tuple(tensor.shape)}".encode())
            digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
