"""Which rows belong to which class, laid out so that many classes can be drawn from at once."""

import torch
from torch import Tensor

from fairground.errors import DataError, require
from fairground.functional.pairs import class_groups
from fairground.functional.random_choice import draw_below
from fairground.sampling.draws import draw_subsets, mark_repeats


class ClassRows:
    """The rows of every class of `labels` (n,); classes are numbered 0..n_classes-1 in sorted order of label.

    `rows` lists all rows class by class: class c has `sizes[c]` of them, from `starts[c]` on. `group` (n,) is the class
    of each row.
    """

    def __init__(self, labels: Tensor) -> None:
        require(
            labels.ndim == 1 and labels.numel() > 0 and not labels.is_floating_point(),
            f"a sampler takes one whole number a training image; got {labels.dtype} of shape {tuple(labels.shape)}",
            DataError,
        )
        self.group, self.sizes = class_groups(labels)
        self.rows = self.group.argsort(stable=True)
        self.starts = self.sizes.cumsum(0) - self.sizes

    @property
    def n_classes(self) -> int:
        """The number of different labels."""
        return len(self.sizes)

    def draw(self, classes: Tensor, k: int, generator: torch.Generator, *, replace: bool = False) -> Tensor:
        """Return k random rows of each of `classes` (m,) as (m, k).

        Without `replace` they differ; a class smaller than k gives all its rows and then repeats.
        """
        sizes = self.sizes[classes]
        if replace:
            chosen = draw_below(sizes.unsqueeze(1).expand(-1, k), generator)
        else:
            chosen = draw_subsets(sizes, k, generator)
        return self.rows[self.starts[classes].unsqueeze(1) + chosen]

    def draw_partners(self, picks: Tensor, k: int, generator: torch.Generator) -> Tensor:
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
        n_small = int((self.sizes < k).sum())
        if n_small == 0:
            return ()
        smallest = int(self.sizes.min())
        return (
            f"{n_small} of {self.n_classes} classes have fewer than {k} images (the smallest has {smallest}): "
            f"each is filled up to {k} with repeats of its own images",
        )


def n_class_slots(batch_size: int, per_class: int) -> int:
    """Return how many groups of `per_class` images make a batch, refusing what cannot be cut evenly."""
    require(per_class >= 1, f"sampler.per_class must be at least 1; got {per_class}")
    require(batch_size >= 1, f"the batch size must be at least 1; got {batch_size}")
    require(
        batch_size % per_class == 0,
        f"sampler.per_class must divide the batch size of {batch_size}; got {per_class}",
    )
    return batch_size // per_class


def require_classes(n_classes: int, needed: int, per_class: int) -> None:
    """Refuse a split with too few classes for batches of different classes; name the settings that would fit."""
    batch_size = needed * per_class
    fitting = next(k for k in range(-(-batch_size // n_classes), batch_size + 1) if batch_size % k == 0)
    require(
        n_classes >= needed,
        f"a batch of {batch_size} with sampler.per_class = {per_class} needs {needed} different classes; the "
        f"training split has {n_classes}. Say training.batch_size={n_classes * per_class}, or "
        f"sampler.per_class={fitting} for {batch_size // fitting} classes with more images of each, repeated where a "
        "class has fewer",
        DataError,
    )
