"""Draws without repeats, many at a time, from the generator given."""

import torch
from torch import Tensor

from fairground.functional.random_choice import draw_below

#: up to this many times the wanted number, shuffling everything is the cheapest way to choose
_SHUFFLE_WITHIN = 32
#: beyond this many numbers a row, drawing them one after the other is slow
_MANY = 16


def draw_distinct(n: int, k: int, generator: torch.Generator) -> Tensor:
    """Return k different numbers out of 0..n-1, every ordered choice equally likely."""
    if n <= _SHUFFLE_WITHIN * k:
        return torch.randperm(n, generator=generator, device=generator.device)[:k]
    return _draw_and_repair(n, k, 1, generator)[0]


def draw_distinct_rows(n: int, k: int, m: int, generator: torch.Generator) -> Tensor:
    """Return (m, k) numbers out of 0..n-1; within a row all differ, and every ordered choice is equally likely."""
    if n <= _SHUFFLE_WITHIN * k:
        keys = torch.rand(m, n, generator=generator, device=generator.device, dtype=torch.float64)
        return keys.topk(k).indices
    return _draw_and_repair(n, k, m, generator)


def draw_subsets(limits: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """Return for every limit (m,) k numbers in 0..limit-1 as (m, k): all different, or all there are and then repeats.

    Every ordered choice is equally likely where the limit is at least k.
    """
    # Sorting everything costs m times the largest limit, the other way k steps over all m.
    if k > _MANY and int(limits.max()) <= _SHUFFLE_WITHIN * k:
        chosen = _shuffled(limits, k, generator)
    else:
        chosen = _drawn_in_steps(limits, k, generator)
    # Where there are fewer than k, both give numbers that do not exist: those become repeats.
    is_missing = chosen >= limits.unsqueeze(1)
    if is_missing.any():
        repeats = draw_below(limits.unsqueeze(1).expand_as(chosen), generator)
        chosen = torch.where(is_missing, repeats, chosen)
    return chosen


def _shuffled(limits: Tensor, k: int, generator: torch.Generator) -> Tensor:
    numbers = torch.arange(max(k, int(limits.max())), device=limits.device)
    keys = torch.rand(len(limits), len(numbers), generator=generator, device=generator.device, dtype=torch.float64)
    return keys.masked_fill(numbers >= limits.unsqueeze(1), 2).topk(k, largest=False).indices


def _drawn_in_steps(limits: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """Floyd's method: step j draws from one number more than the step before, and takes the new one on a clash."""
    newest = (limits - k).clamp_min(0).unsqueeze(1) + torch.arange(k, device=limits.device)
    chosen = draw_below(newest + 1, generator)
    for j in range(1, k):
        clash = (chosen[:, :j] == chosen[:, j : j + 1]).any(1)
        chosen[:, j] = torch.where(clash, newest[:, j], chosen[:, j])
    # What was drawn is uniform as a set; its order is not.
    order = torch.rand(chosen.shape, generator=generator, device=generator.device, dtype=torch.float64).argsort(1)
    return chosen.gather(1, order)


def _draw_and_repair(n: int, k: int, m: int, generator: torch.Generator) -> Tensor:
    """Draw with repeats, then draw the repeats anew until none is left; quick while n is much larger than k.

    No number is treated differently from any other, so no choice of different numbers can be likelier than another.
    """
    drawn = torch.randint(n, (m, k), generator=generator, device=generator.device)
    is_repeat = mark_repeats(drawn)
    while is_repeat.any():
        again = torch.randint(n, (int(is_repeat.sum()),), generator=generator, device=generator.device)
        drawn[is_repeat] = again
        is_repeat = mark_repeats(drawn)
    return drawn


def mark_repeats(values: Tensor) -> Tensor:
    """Return (m, k) marks of the entries that equal an earlier entry of their row."""
    ordered, position = values.sort(dim=1, stable=True)
    is_repeat = torch.zeros_like(values, dtype=torch.bool)
    return is_repeat.scatter(1, position[:, 1:], ordered[:, 1:] == ordered[:, :-1])
