"""Random choices for the rows of a batch: numbers, columns of a mask or by weights, and subsets.

Random numbers are drawn where the generator lives and then moved, so that a seed gives the same choices on every
device. A generator of None means torch's default one, as it does everywhere in torch.
"""

import torch
from torch import Tensor

from fairground.functional.soft_histograms_and_ranks import running_sums


def draw_below(limits: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return, for every limit, a whole number in 0..limit-1, all equally likely; 0 for a limit of 0."""
    home = limits.device if generator is None else generator.device
    if home.type == "cpu":
        # 53 random bits: the bias for a class of a million images is below 1e-9.
        uniform = torch.rand(limits.shape, generator=generator, dtype=torch.float64)
        if limits.is_cpu:
            return (uniform * limits).long()
        bits = (uniform * 2**48).long().to(limits.device)
    else:
        halves = torch.rand((2, *limits.shape), generator=generator, device=home).mul(2**24).long().to(limits.device)
        bits = halves[0] << 24 | halves[1]
    # bits * limit / 2**48 rounded down, in whole numbers: not every device has float64.
    return ((bits >> 24) * limits + ((bits & 0xFFFFFF) * limits >> 24)) >> 24


def fractions(n: int, like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return `n` numbers in [0, 1) on the device of `like`."""
    home = like.device if generator is None else generator.device
    return torch.rand(n, generator=generator, device=home).to(like.device)


def marked_column(mask: Tensor, generator: torch.Generator | None) -> Tensor:
    """Return for each row of `mask` (r, n) one of its marked columns, all equally likely; any column where none is.

    A mask of whole numbers counts a column as often as it says.
    """
    wanted = draw_below(mask.sum(1), generator) + 1
    return torch.searchsorted(mask.cumsum(1), wanted.unsqueeze(1)).squeeze(1).clamp_max(mask.shape[1] - 1)


def weighted_columns(weights: Tensor, count: int, generator: torch.Generator | None) -> Tensor:
    """Return `count` columns (r, count) for each row of `weights` (r, n), with chances as its weights, with repeats.

    Every row needs a weight above zero; columns of weight zero are never drawn.
    """
    cumulative = running_sums(weights)
    total = cumulative[:, -1:]
    drawn = fractions(len(weights) * count, weights, generator).view(len(weights), count) * total
    # Rounding may lift a draw up to the total itself, and no column reaches beyond that.
    below = torch.minimum(drawn, torch.nextafter(total, torch.zeros_like(total)))
    column = torch.searchsorted(cumulative, below, right=True).clamp_max(weights.shape[1] - 1)
    # Parallel sums need not rise from column to column, so the search may stop at a weight of zero.
    return torch.where(weights.gather(1, column) > 0, column, weights.argmax(1, keepdim=True))


def distinct_below(totals: Tensor, cap: int, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """Return rows and ranks: for each row min(cap, total) different numbers in 0..total-1, every subset equally likely.

    Memory is that of the answer, however large the totals. The pairs come sorted by row, then rank.
    """
    wanted = totals.clamp_max(cap)
    spared = totals - wanted
    # Where more is kept than left out it is cheaper to draw what is left out, and repeats stay rare.
    is_complement = spared < wanted
    drawn = torch.where(is_complement, spared, wanted)
    width = int(totals.max()) if len(totals) else 0
    row_of = torch.arange(len(totals), device=totals.device)
    codes = row_of.new_empty(0)
    missing = drawn
    while bool(missing.any()):
        row = row_of.repeat_interleave(missing)
        drawn_now = row * width + draw_below(totals[row], generator)
        codes = torch.unique(torch.cat([codes, drawn_now]))
        missing = drawn - torch.bincount(codes // width, minlength=len(totals))
    if bool(is_complement.any()):
        # The codes of these rows are replaced by all others of the row.
        sizes = torch.where(is_complement, totals, 0)
        row = row_of.repeat_interleave(sizes)
        every = row * width + torch.arange(len(row), device=totals.device) - (sizes.cumsum(0) - sizes)[row]
        kept = every[~torch.isin(every, codes)]
        codes = torch.cat([codes[sizes[codes // width] == 0], kept]).sort().values
    return codes // max(width, 1), codes % max(width, 1)


def capped(group: Tensor, n_groups: int, cap: int, generator: torch.Generator | None) -> Tensor:
    """Return positions in the sorted `group` (t,) that keep at most `cap` of each group, all subsets equally likely."""
    sizes = torch.bincount(group, minlength=n_groups)
    row, rank = distinct_below(sizes, cap, generator)
    return (sizes.cumsum(0) - sizes)[row] + rank
