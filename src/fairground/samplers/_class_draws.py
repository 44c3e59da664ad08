"""Draws of rows by class: rows of many classes at once, pools with candidate batches, and draws without repeats."""

from typing import NamedTuple

import torch

from fairground.contracts.sampler import BatchSampler, DataError, Labels, label_tensor, require
from fairground.functional import class_groups, draw_below

#: up to this many times the wanted number, shuffling everything is the cheapest way to choose
_SHUFFLE_WITHIN = 32
#: beyond this many numbers per row, drawing them one after the other is slow
_MANY = 16
#: batches planned at a time: enough to make planning cheap, few enough to keep checkpoints small
BLOCK = 64


class ClassRows:
    """The rows of every class of `labels` (n,); classes are numbered 0..n_classes-1 in sorted order of label.

    `rows` lists all rows class by class: class c has `sizes[c]` of them, from `starts[c]` on. `group` (n,) is the class
    of each row.
    """

    def __init__(self, labels: torch.Tensor) -> None:
        is_right = labels.ndim == 1 and labels.numel() > 0 and not labels.is_floating_point()
        got = f"{labels.dtype} of shape {tuple(labels.shape)}"
        require(is_right, f"a sampler takes one integer label per training image; got {got}", DataError)
        self.group, self.sizes = class_groups(labels)
        self.rows = self.group.argsort(stable=True)
        self.starts = self.sizes.cumsum(0) - self.sizes

    @property
    def n_classes(self) -> int:
        return len(self.sizes)

    def draw(self, classes: torch.Tensor, k: int, generator: torch.Generator, *, replace: bool = False) -> torch.Tensor:
        """Return k random rows of each of `classes` (m,) as (m, k).

        Without `replace` they differ; a class smaller than k gives all its rows and then repeats.
        """
        sizes = self.sizes[classes]
        below = sizes.unsqueeze(1).expand(-1, k)
        chosen = draw_below(below, generator) if replace else draw_subsets(sizes, k, generator)
        return self.rows[self.starts[classes].unsqueeze(1) + chosen]

    def draw_partners(self, picks: torch.Tensor, k: int, generator: torch.Generator) -> torch.Tensor:
        """Return k further rows of each pick's class as (m, k).

        No row is given twice, nor is any of the different `picks` (m,), unless a class has too few rows for that.
        """
        classes, slot, n_picks = torch.unique(self.group[picks], return_inverse=True, return_counts=True)
        # Each class gives enough for all its picks at once: those that are picks or repeats go to the end of the line.
        most = int(n_picks.max())
        rows = self.draw(classes, most * (k + 1), generator)
        order = slot.argsort(stable=True)
        turn = torch.empty_like(slot)
        turn[order] = torch.arange(len(picks), device=slot.device) - (n_picks.cumsum(0) - n_picks)[slot[order]]
        of_class = picks.new_full((len(classes), most), -1)
        of_class[slot, turn] = picks
        is_unwanted = (rows.unsqueeze(2) == of_class.unsqueeze(1)).any(2) | mark_repeats(rows)
        rows = rows.gather(1, is_unwanted.byte().argsort(dim=1, stable=True))
        columns = turn.unsqueeze(1) * k + torch.arange(k, device=slot.device)
        return rows[slot.unsqueeze(1), columns]

    def filled_up(self, k: int) -> tuple[str, ...]:
        """Return the sentence for the record about classes with fewer than k images, if there are any."""
        n_small, smallest = int((self.sizes < k).sum()), int(self.sizes.min())
        small = f"{n_small} of {self.n_classes} classes have fewer than {k} images (the smallest has {smallest})"
        return (f"{small}: each is filled up to {k} with repeats of its own images",) if n_small else ()


class ClassSampler(BatchSampler):
    """A sampler that draws by class; an epoch is as many batches as fit into the split, at least one."""

    def __init__(self, *, labels: Labels, batch_size: int, per_class: int = 1, seed: int = 0) -> None:
        super().__init__(batch_size=batch_size, seed=seed)
        self._classes = ClassRows(label_tensor(labels))
        self._per_class = per_class
        self.n_batches = max(1, len(self._classes.rows) // self.batch_size)

    def notes(self) -> tuple[str, ...]:
        return self._classes.filled_up(self._per_class)

    def class_slots(self, *, distinct: bool) -> int:
        """Return how many classes make a batch; refuse a batch that cannot be cut so, or too few `distinct` classes."""
        size, m, n_classes = self.batch_size, self._per_class, self._classes.n_classes
        require(m >= 1, f"sampler.per_class must be at least 1; got {m}")
        require(size % m == 0, f"sampler.per_class must divide the batch size of {size}; got {m}")
        fitting = next(k for k in range(-(-size // n_classes), size + 1) if size % k == 0)
        needs = f"a batch of {size} with sampler.per_class = {m} needs {size // m} different classes"
        fewer = f"{size // fitting} classes with more images of each (repeated where a class has fewer)"
        advice = f"Set training.batch_size={n_classes * m}, or sampler.per_class={fitting} for {fewer}"
        has_enough = not distinct or n_classes >= size // m
        require(has_enough, f"{needs}; the training split has {n_classes}. {advice}", DataError)
        return size // m


class Candidates(NamedTuple):
    """`rows` (p,) of the pool, all different, and m batches as positions in it: `batches` (m, b)."""

    rows: torch.Tensor
    batches: torch.Tensor


def draw_candidates(
    classes: ClassRows,
    *,
    pool: int,
    n_candidates: int,
    n_slots: int,
    per_class: int,
    replace_classes: bool,
    generator: torch.Generator,
) -> Candidates:
    """Return a pool of at most `pool` rows and candidates of `n_slots` of its classes with `per_class` rows each.

    Classes are drawn with replacement or, without, each as often as any other: then the pool has a class a second time
    only when it has all of them, and a candidate never has.
    """
    rows = _draw_pool(classes, pool // per_class, per_class, replace_classes, generator)
    groups = ClassRows(classes.group[rows])
    if replace_classes:
        size = (n_candidates, n_slots)
        chosen = torch.randint(groups.n_classes, size, generator=generator, device=generator.device)
    else:
        chosen = draw_distinct_rows(groups.n_classes, n_slots, n_candidates, generator)
    batches = groups.draw(chosen.flatten(), per_class, generator)
    return Candidates(rows, batches.view(n_candidates, n_slots * per_class))


def _draw_pool(
    classes: ClassRows, n_draws: int, per_class: int, replace_classes: bool, generator: torch.Generator
) -> torch.Tensor:
    """Return different rows: those of `n_draws` classes, where a class that comes up again gives other rows."""
    n_classes = classes.n_classes
    if replace_classes:
        drawn = torch.randint(n_classes, (n_draws,), generator=generator, device=generator.device)
        rows = classes.draw(drawn, per_class, generator).flatten()
    else:
        n_rounds, n_left = divmod(n_draws, n_classes)
        last_round = draw_distinct(n_classes, n_left, generator)
        if n_rounds == 0:
            rows = classes.draw(last_round, per_class, generator).flatten()
        else:
            everything = torch.arange(n_classes, device=generator.device)
            of_class = classes.draw(everything, (n_rounds + 1) * per_class, generator)
            rows = torch.cat([of_class[:, :-per_class].flatten(), of_class[last_round, -per_class:].flatten()])
    return torch.unique(rows)


def draw_distinct(n: int, k: int, generator: torch.Generator) -> torch.Tensor:
    """Return k different numbers out of 0..n-1, every ordered choice equally likely."""
    if n <= _SHUFFLE_WITHIN * k:
        return torch.randperm(n, generator=generator, device=generator.device)[:k]
    return _draw_and_repair(n, k, 1, generator)[0]


def draw_distinct_rows(n: int, k: int, m: int, generator: torch.Generator) -> torch.Tensor:
    """Return (m, k) numbers out of 0..n-1; within a row all differ, and every ordered choice is equally likely."""
    if n <= _SHUFFLE_WITHIN * k:
        keys = torch.rand(m, n, generator=generator, device=generator.device, dtype=torch.float64)
        return keys.topk(k).indices
    return _draw_and_repair(n, k, m, generator)


def draw_subsets(limits: torch.Tensor, k: int, generator: torch.Generator) -> torch.Tensor:
    """Return for every limit (m,) k numbers in 0..limit-1 as (m, k): all different, or all there are and then repeats.

    Every ordered choice is equally likely where the limit is at least k.
    """
    # Sorting everything costs m times the largest limit, the other way k steps over all m.
    if k > _MANY and int(limits.max()) <= _SHUFFLE_WITHIN * k:
        numbers = torch.arange(max(k, int(limits.max())), device=limits.device)
        keys = torch.rand(len(limits), len(numbers), generator=generator, device=generator.device, dtype=torch.float64)
        chosen = keys.masked_fill(numbers >= limits.unsqueeze(1), 2).topk(k, largest=False).indices
    else:
        chosen = _drawn_in_steps(limits, k, generator)
    # Where there are fewer than k, both give numbers that do not exist: those become repeats.
    is_missing = chosen >= limits.unsqueeze(1)
    if is_missing.any():
        repeats = draw_below(limits.unsqueeze(1).expand_as(chosen), generator)
        chosen = torch.where(is_missing, repeats, chosen)
    return chosen


def _drawn_in_steps(limits: torch.Tensor, k: int, generator: torch.Generator) -> torch.Tensor:
    """Floyd's method: step j draws from one number more than the step before, and takes the new one on a clash."""
    newest = (limits - k).clamp_min(0).unsqueeze(1) + torch.arange(k, device=limits.device)
    chosen = draw_below(newest + 1, generator)
    for j in range(1, k):
        clash = (chosen[:, :j] == chosen[:, j : j + 1]).any(1)
        chosen[:, j] = torch.where(clash, newest[:, j], chosen[:, j])
    # What was drawn is uniform as a set; its order is not.
    order = torch.rand(chosen.shape, generator=generator, device=generator.device, dtype=torch.float64).argsort(1)
    return chosen.gather(1, order)


def _draw_and_repair(n: int, k: int, m: int, generator: torch.Generator) -> torch.Tensor:
    """Draw with repeats, then redraw the repeats until none is left; quick while n is much larger than k.

    No number is treated differently from any other, so no choice of different numbers can be likelier than another.
    """
    drawn = torch.randint(n, (m, k), generator=generator, device=generator.device)
    while (is_repeat := mark_repeats(drawn)).any():
        drawn[is_repeat] = torch.randint(n, (int(is_repeat.sum()),), generator=generator, device=generator.device)
    return drawn


def mark_repeats(values: torch.Tensor) -> torch.Tensor:
    """Return (m, k) marks of the entries that equal an earlier entry of their row."""
    ordered, position = values.sort(dim=1, stable=True)
    is_repeat = torch.zeros_like(values, dtype=torch.bool)
    return is_repeat.scatter(1, position[:, 1:], ordered[:, 1:] == ordered[:, :-1])
