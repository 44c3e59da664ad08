"""What the samplers that look at embeddings share: the memory bank, and when batches are mined from it."""

import inspect
import tempfile
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
import torch

from fairground.contracts.sampler import Labels, require
from fairground.functional import DataError, DivergedError, normalize
from fairground.samplers import _class_draws as draws

Mine = Literal["batch", "epoch"]
#: rows filled at a time, so that filling a mapped bank needs little memory besides
_BLOCK = 65536


class EmbeddedSampler(draws.ClassSampler):
    """Mines every batch from a pool drawn from the memory bank.

    `pool` is b*, the number of images that a batch of `per_class` images per class is chosen from. `mine` says when:
    each "batch" from the live bank, or a whole "epoch" of `n_batches` from the bank as it is before the first of them.
    `momentum` and `update` say what the bank makes of the embeddings seen in training, `normalise` puts them on the
    unit sphere first: an update overwrites or, with momentum, new = momentum * old + (1 - momentum) * seen. A
    `projection` above 0 mines in a random space of that many dimensions, a new one each batch. Beyond `memory_limit`
    gigabytes the bank is an unnamed temporary file that is mapped into memory and vanishes with the process.
    """

    needs_embeddings = True
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        """Show the settings that a sampler passes on as `**bank` in its signature."""
        own = inspect.signature(cls).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in own):
            shared = inspect.signature(EmbeddedSampler).parameters.values()
            cls.__signature__ = inspect.Signature([*shared, *[one for one in own if one.kind is one.KEYWORD_ONLY]])

    def __init__(
        self,
        *,
        labels: Labels,
        batch_size: int,
        per_class: int = 4,
        pool: int = 1024,
        mine: Mine = "batch",
        momentum: float = 0.0,
        update: bool = True,
        normalise: bool = True,
        projection: int = 0,
        memory_limit: float = 4.0,
        seed: int = 0,
    ) -> None:
        super().__init__(labels=labels, batch_size=batch_size, per_class=per_class, seed=seed)
        self._n_slots = self.class_slots(distinct=False)
        require(len(labels) >= 2, f"a pool needs at least two images; the training split has {len(labels)}", DataError)
        require(pool >= batch_size, f"sampler.pool must be at least the batch size of {batch_size}; got {pool}")
        require(0 <= momentum < 1, f"sampler.momentum must be in [0, 1), where 0 overwrites; got {momentum}")
        require(projection >= 0, f"sampler.projection must be 0 (off) or a number of dimensions; got {projection}")
        require(memory_limit >= 0, f"sampler.memory_limit must be 0 or more gigabytes; got {memory_limit}")
        self._momentum, self._normalise, self._memory_limit = momentum, normalise, memory_limit * 1e9
        self._pool, self._mine, self._update, self._projection = pool, mine, update, projection
        self._bank: torch.Tensor | None = None

    @abstractmethod
    def choose(self, generator: torch.Generator) -> torch.Tensor:
        """Return the rows (batch_size,) of one batch, mined from the bank as it is now."""

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        n_planned = self.n_batches if self._mine == "epoch" else 1
        return torch.stack([self.choose(generator) for _ in range(n_planned)])

    def points(self, rows: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        """Return the bank's embeddings of `rows`, in the space batches are mined in."""
        points = self.bank.index_select(0, rows.to(self.bank.device))
        if self._projection > 0:
            size = (points.shape[1], self._projection)
            points = points @ (torch.randn(size, generator=generator, device=generator.device) / size[1] ** 0.5)
        return points

    def require_picks(self) -> None:
        n_rows, name = len(self._classes.rows), type(self).__module__.rpartition(".")[2]
        sentence = f"sampler {name} picks {self._n_slots} images per batch; the training split has {n_rows}"
        require(n_rows >= self._n_slots, sentence)

    def draw_pool(self, generator: torch.Generator) -> torch.Tensor:
        n_rows = len(self._classes.rows)
        return draws.draw_distinct(n_rows, min(self._pool, n_rows), generator)

    def with_partners(self, picks: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        partners = self._classes.draw_partners(picks, self._per_class - 1, generator)
        return torch.cat([picks.unsqueeze(1), partners], dim=1).flatten()

    def draw_candidates(self, n: int, replace_classes: bool, generator: torch.Generator) -> draws.Candidates:
        return draws.draw_candidates(
            self._classes,
            pool=self._pool,
            n_candidates=n,
            n_slots=self._n_slots,
            per_class=self._per_class,
            replace_classes=replace_classes,
            generator=generator,
        )

    @property
    def bank(self) -> torch.Tensor:
        """One embedding per image (n, d), in float32."""
        require(self._bank is not None, "the memory bank is empty: `fill` must be called before the first batch")
        assert self._bank is not None
        return self._bank

    def fill(self, embeddings: torch.Tensor) -> None:
        n_rows = len(self._classes.rows)
        refusal = f"the memory bank takes one embedding for each of {n_rows} images; got {tuple(embeddings.shape)}"
        require(embeddings.ndim == 2 and len(embeddings) == n_rows, refusal, DataError)
        if self._bank is None or self._bank.shape != embeddings.shape:
            self._bank = self._allocate(embeddings.shape[1])
        for start in range(0, n_rows, _BLOCK):
            block = slice(start, start + _BLOCK)
            self._bank[block] = self._checked(embeddings[block].detach().to(self._bank))

    def observe(self, rows: torch.Tensor, embeddings: torch.Tensor) -> None:
        if not self._update:
            return
        seen = self._checked(embeddings.detach().to(self.bank))
        rows = rows.to(self.bank.device)
        # Of a row given several times the last counts: writing twice leaves the winner open, and the resumed run.
        is_last = ~draws.mark_repeats(rows.flip(0).unsqueeze(0))[0].flip(0)
        rows, seen = rows[is_last], seen[is_last]
        if self._momentum > 0:
            seen = self._checked(self._momentum * self.bank[rows] + (1 - self._momentum) * seen)
        self.bank[rows] = seen

    def state_dict(self) -> dict[str, torch.Tensor]:
        return super().state_dict() | ({} if self._bank is None else {"bank": self._bank})

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        super().load_state_dict(state)
        if "bank" in state:
            self._bank = self._allocate(state["bank"].shape[1])
            self._bank.copy_(state["bank"])

    def _checked(self, embeddings: torch.Tensor) -> torch.Tensor:
        # Nothing can be mined from what is not a number: better to stop here than to draw nonsense.
        is_finite = bool(torch.isfinite(embeddings).all())
        require(is_finite, "the memory bank takes finite embeddings; got others", DivergedError)
        return normalize(embeddings) if self._normalise else embeddings

    def _allocate(self, width: int) -> torch.Tensor:
        shape = (len(self._classes.rows), width)
        if 4 * shape[0] * width <= self._memory_limit:
            return torch.empty(shape)
        with tempfile.TemporaryFile() as file:
            # The mapping keeps the space of the closed and nameless file alive for as long as the bank lives.
            return torch.from_numpy(np.memmap(file, dtype=np.float32, mode="w+", shape=shape))

    def notes(self) -> tuple[str, ...]:
        n_rows = len(self._classes.rows)
        small = () if self._pool <= n_rows else (f"sampler.pool = {self._pool}, but the split has {n_rows} images",)
        return self._classes.filled_up(self._per_class) + small
