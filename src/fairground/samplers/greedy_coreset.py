"""GC: batches whose images are as far apart as possible, found by greedy covering.

Formula
    B* = b* images drawn uniformly and all different; s_1 uniform in B*;
    s_i = argmax over x in B* of  min over j < i of ||f(x) - f(s_j)||,  i = 2 .. b/n
    B = the picks, each with n - 1 random images of its class

Paper
    Roth et al., "Revisiting Training Strategies and Generalization Performance in Deep Metric Learning", ICML 2020,
    section 3.2 (GC), after Sener and Savarese, "Active Learning for Convolutional Neural Networks: A Core-Set
    Approach", ICLR 2018.

Departures from the paper
    Mined from the live memory bank by default; `mine = "epoch"` freezes it for an epoch. The images beside a pick are
    different from it and from each other while the class has enough of them. The paper's released code picks from one
    random subset but takes the images at those places in another, drawn with replacement, so that its batches are
    random ones; the images beside a pick may be any of its class: `roth_code`. With `mine = "epoch"` all batches of an
    epoch then come from one such subset, as in that code.
"""

from math import ceil
from typing import Any

import torch

from fairground.samplers._memory_bank import EmbeddedSampler


class GreedyCoresetSampler(EmbeddedSampler):
    """Every next pick is the image farthest from all picks so far or, with `softened`, one of the farthest 3 %."""

    def __init__(self, *, softened: bool = False, roth_code: bool = False, **bank: Any) -> None:
        super().__init__(**bank)
        self.require_picks()
        self._softness, self._roth_code = 0.03 if softened else 0.0, roth_code
        self._other_pool: torch.Tensor | None = None

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        self._other_pool = None
        return super().plan(generator)

    def choose(self, generator: torch.Generator) -> torch.Tensor:
        pool = self.draw_pool(generator)
        picked = farthest_first(self.points(pool, generator), self._n_slots, generator, softness=self._softness)
        if not self._roth_code:
            return self.with_partners(pool[picked], generator)
        if self._other_pool is None:
            n_rows = len(self._classes.rows)
            self._other_pool = torch.randint(n_rows, pool.shape, generator=generator, device=generator.device)
        picks = self._other_pool[picked]
        partners = self._classes.draw(self._classes.group[picks], self._per_class - 1, generator, replace=True)
        return torch.cat([picks.unsqueeze(1), partners], dim=1).flatten()

    def known_bugs(self) -> tuple[str, ...]:
        if not self._roth_code:
            return ()
        return ("sampler.roth_code: the places picked in one random subset are looked up in another (erratum E42)",)


def farthest_first(points: torch.Tensor, k: int, generator: torch.Generator, *, softness: float = 0.0) -> torch.Tensor:
    """Return k different picks (k,) out of `points` (n, d): a random one, then one far from its nearest pick.

    That is the farthest point or, with a `softness` in (0, 1), any of that share of the points that are farthest, drawn
    uniformly.
    """
    halves = points.square().sum(1) / 2
    uniform = torch.rand(k, generator=generator, device=generator.device, dtype=torch.float64).tolist()
    rank = ceil((1 - softness) * (len(points) - 1)) + 1
    nearest = points.new_full((len(points),), torch.inf)
    picks: list[int] = []
    for i, number in enumerate(uniform):
        if i == 0:
            pick = int(number * len(points))
        elif softness:
            far = ((nearest >= nearest.kthvalue(rank).values) & (nearest > -torch.inf)).nonzero().squeeze(1)
            pick = int(far[int(number * len(far))])
        else:
            pick = int(nearest.argmax())
        picks.append(pick)
        # Half the squared distance of every point to its nearest pick; a pick is never picked again.
        nearest = torch.minimum(nearest, halves + halves[pick] - points @ points[pick])
        nearest[picks] = -torch.inf
    return torch.tensor(picks, device=points.device)
