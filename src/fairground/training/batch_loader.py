"""Image table, transform and sampler to batches; slow images are read one batch ahead, in a thread of their own.

Batches are made in order from generators that nothing else draws from, so results are the same. A sampler that looks at
embeddings must see this step's before it chooses: there nothing is made ahead.
"""

from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
import torch

from fairground.contracts import Augmentation, Batch, BatchSampler, Images, Transform
from fairground.loading import read_ahead, to_device

State = Mapping[str, Mapping[str, torch.Tensor]]


@dataclass(kw_only=True)
class Loader:
    """Draws the next batch of the training split. `rows` are its rows in the table, `labels` its classes as 0..C-1."""

    images: Images
    rows: np.ndarray
    labels: torch.Tensor
    transform: Transform
    sampler: BatchSampler
    device: torch.device
    sampling: torch.Generator
    augmenting: torch.Generator
    #: above 0, the images of a batch are left to be made so many at a time
    chunk: int = 0
    _worker: ThreadPoolExecutor | None = None
    _ahead: "Future[Batch] | None" = None
    _before: State = field(default_factory=dict)

    def draw(self, *, is_last: bool = True) -> Batch:
        """Return the next batch on the training device; unless it `is_last` of its epoch, begin to make another."""
        batch = self._make() if self._ahead is None else self._ahead.result()
        self._ahead = None
        is_alone = self.sampler.needs_embeddings or self.sampler.draws_globally or self.transform.draws_globally
        if self.images.is_slow and not is_last and not is_alone:
            self._before = self._state()
            self._worker = self._worker or ThreadPoolExecutor(1, thread_name_prefix="fairground-loader")
            self._ahead = self._worker.submit(self._make)
        return batch

    def start_epoch(self) -> None:
        self.sampler.start_epoch(self.sampling)

    def state(self) -> State:
        return self._state() if self._ahead is None else self._before

    def load_state(self, state: State) -> None:
        """Take back what `state` gave; a batch made ahead is thrown away."""
        if self._ahead is not None:
            self._ahead.result()
            self._ahead = None
        self.sampler.load_state_dict(state.get("sampler", {}))
        self.sampling.set_state(state["generator"]["sampler"])
        self.augmenting.set_state(state["generator"]["augment"])

    def _make(self) -> Batch:
        chosen = self.sampler.draw(self.sampling)
        plan = self.transform.plan(self.images, self.rows[chosen.numpy()], self.augmenting, self.device)
        chunks: Collection[torch.Tensor]
        if self.chunk:
            chunks = _ChunksOnDemand(plan, self.chunk, is_slow=self.images.is_slow)
        else:
            chunks = (plan.make(slice(0, plan.n)),)
        return Batch(chunks, to_device(self.labels[chosen], self.device), chosen)

    def _state(self) -> State:
        generators = {"sampler": self.sampling.get_state(), "augment": self.augmenting.get_state()}
        return {"sampler": self.sampler.state_dict(), "generator": generators}


class _ChunksOnDemand(Collection[torch.Tensor]):
    """The images of a batch, `size` at a time, made again on every pass; slow ones are read one chunk ahead."""

    def __init__(self, plan: Augmentation, size: int, *, is_slow: bool) -> None:
        self._make, self._is_slow = plan.make, is_slow
        self._slices = [slice(begin, min(begin + size, plan.n)) for begin in range(0, plan.n, size)]

    def __len__(self) -> int:
        return len(self._slices)

    def __contains__(self, chunk: object) -> bool:
        return any(chunk is made for made in self)

    def __iter__(self) -> Iterator[torch.Tensor]:
        return read_ahead(self._make, self._slices) if self._is_slow else map(self._make, self._slices)
