"""How features of known classes scatter: within their classes, and the means of the classes about the mean.

S_w = sum_i (f_i - m_c(i)) (f_i - m_c(i))' / (N - C),  S_t = sum_i (f_i - m) (f_i - m)' / N,  N features, C classes
"""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

import torch

from fairground.errors import require


class ClassScatter(NamedTuple):
    """`mean` (d,), `within` and `total` (d, d), `means` (C, d) of the classes, `counts` (C,) their sizes; float64."""

    mean: torch.Tensor
    within: torch.Tensor
    total: torch.Tensor
    means: torch.Tensor
    counts: torch.Tensor

    @property
    def n(self) -> int:
        return int(self.counts.sum())


def class_scatter(blocks: Iterable[torch.Tensor], labels: torch.Tensor) -> ClassScatter:
    """Return the scatter of all rows of all blocks (n, d), whose classes are `labels` (N,) in the order of the rows.

    In the memory of one block, the class means and d x d.
    """
    _, places = torch.unique(labels.cpu(), return_inverse=True)
    counts = torch.bincount(places).double()
    given = f"{len(places)} images of {len(counts)} classes"
    needed = "scatter within classes needs two classes or more and a class of two images"
    require(len(places) > len(counts) > 1, f"{needed}; got {given}")
    rest = iter(blocks)
    # Not every accelerator knows float64.
    first = next(rest).detach().cpu().double()
    # Sums of squares about a point far from the mean would lose the digits that matter.
    shift = first.mean(0)
    begin, sums, products = 0, first.new_zeros(len(counts), len(shift)), first.new_zeros(len(shift), len(shift))
    for block in chain([first], rest):
        rows = block.detach().cpu().double() - shift
        sums.index_add_(0, places[begin : begin + len(rows)], rows)
        products.addmm_(rows.T, rows)
        begin += len(rows)
    require(begin == len(places), f"every feature needs a label; got {begin} features and {len(places)} labels")
    means = sums / counts[:, None]
    offset = sums.sum(0) / begin
    within = (products - means.T @ sums) / (begin - len(counts))
    total = products / begin - torch.outer(offset, offset)
    return ClassScatter(
        mean=shift + offset, within=_symmetric(within), total=_symmetric(total), means=shift + means, counts=counts
    )


def _symmetric(matrix: torch.Tensor) -> torch.Tensor:
    return (matrix + matrix.T) / 2
