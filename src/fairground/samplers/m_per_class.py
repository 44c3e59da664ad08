"""m-per-class: batches cut from passes over all classes with m images each.

Formula
    Clean: B = m images of each of the first b/m classes of a fresh shuffle.
    Straddling: list = repeat { shuffle the classes; append m images of each } up to `list_length`;
    B_1, B_2, .. = b consecutive entries each

Paper
    Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020, section 3.2, whose code cuts batches
    from the list.

Departures from the paper
    Clean by default: a batch cut from the list may straddle two passes, and then hold a class twice; `straddle` does
    as the paper's code. A class with fewer than m images gives all it has and then repeats; the paper's code draws all
    m with replacement.
"""

import torch

from fairground.contracts.sampler import Choice, Labels, require
from fairground.samplers._class_draws import BLOCK, ClassSampler, draw_distinct_rows


class MPerClassSampler(ClassSampler):
    """`per_class` is m."""

    tunable = {"per_class": Choice(options=(2, 4, 8))}

    def __init__(
        self,
        *,
        labels: Labels,
        batch_size: int,
        per_class: int = 4,
        straddle: bool = False,
        list_length: int = 100_000,
        seed: int = 0,
    ) -> None:
        super().__init__(labels=labels, batch_size=batch_size, per_class=per_class, seed=seed)
        if straddle:
            require(per_class >= 1, f"sampler.per_class must be at least 1; got {per_class}")
            refusal = f"sampler.list_length must be at least the batch size of {batch_size}; got {list_length}"
            require(1 <= batch_size <= list_length, refusal)
        else:
            self.class_slots(distinct=True)
        self._straddle, self._list_length = straddle, list_length

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        n_classes, m = self._classes.n_classes, self._per_class
        if not self._straddle:
            size = (min(BLOCK, self.n_batches), self.batch_size)
            drawn = draw_distinct_rows(n_classes, self.batch_size // m, size[0], generator)
            return self._classes.draw(drawn.flatten(), m, generator).view(size)
        # Whole passes up to the length or, where one pass is longer, as much of it; but never less than a batch.
        n_passes = max(self._list_length // (n_classes * m), -(-self.batch_size // (n_classes * m)))
        passes = [torch.randperm(n_classes, generator=generator, device=generator.device) for _ in range(n_passes)]
        entries = self._classes.draw(torch.cat(passes), m, generator).flatten()[: self._list_length]
        n_planned = len(entries) // self.batch_size
        return entries[: n_planned * self.batch_size].view(n_planned, self.batch_size)
