"""Name the way an embedding space has collapsed, from a batch or a whole set of embeddings.

A model has collapsed when its embeddings no longer tell images apart: all at one point, all along one line, or in far
fewer dimensions than it has. Losses often look healthy meanwhile, so the embeddings themselves are looked at.

Also here: distances of all pairs among a bounded, evenly spaced choice of rows; how far a spectrum is from flat;
singular values of a tall matrix, to full precision and in bounded memory (squaring it first, for the eigenvalues of
Z'Z, would lose every value below 1e-8 of the largest; reducing it block by block to a triangle loses nothing);
principal axes of feature vectors that come a block at a time, standardised per dimension or not.

How features of known classes scatter: within their classes, and the means of the classes about the mean:
S_w = sum_i (f_i - m_c(i)) (f_i - m_c(i))' / (N - C),  S_t = sum_i (f_i - m) (f_i - m)' / N,  N features, C classes
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
import torch

from fairground.errors import require
from fairground.functional.pairs import normalize
from fairground.retrieval.threads import single_threaded_blas

Kind = Literal["none", "not_finite", "zero", "point", "line", "few_dimensions"]
#: mean squared distance to the mean (of unit vectors) below which all are at one point
POINT = 1e-3
#: share of the variance along one direction above which all are on one line
LINE = 0.95
#: effective dimensions, as a share of those there could be, below which they are few
FEW = 0.03
#: with fewer dimensions than this, a line or a plane is what there is
ENOUGH = 8


@dataclass(frozen=True)
class Collapse:
    """`kind` is what was seen ("none" if nothing is wrong) and `sentence` says it with numbers.

    `spread` is the mean squared distance of unit vectors to their mean (0 one point, 1 evenly spread);
    `effective_dimensions` is the exponential entropy of the variances along the principal axes.
    """

    kind: Kind
    sentence: str
    spread: float
    effective_dimensions: float

    @property
    def is_collapsed(self) -> bool:
        """Whether something is wrong."""
        return self.kind != "none"


@torch.no_grad()
def collapse_of(embeddings: torch.Tensor) -> Collapse:
    """Return what embeddings (n, d), raw or unit, show; two rows at least."""
    finite = embeddings.isfinite().all(1)
    n, d = embeddings.shape
    if not bool(finite.all()):
        return Collapse("not_finite", f"{int((~finite).sum())} of {n} embeddings are not finite", 0.0, 0.0)
    wide = embeddings.detach().double()
    n_zero = int((wide.norm(dim=1) < 1e-12).sum())
    if n_zero > n / 2:
        return Collapse("zero", f"{n_zero} of {n} embeddings are zero", 0.0, 0.0)
    points = normalize(wide)
    centred = points - points.mean(0)
    spread = float(centred.square().sum(1).mean())
    if spread < POINT:
        return Collapse("point", f"all embeddings lie at one point (spread {spread:.1e})", spread, 0.0)
    variances = torch.linalg.svdvals(centred).square()
    shares = variances / variances.sum()
    dimensions = float(torch.special.entr(shares).sum().exp())
    possible = min(n - 1, d)
    if possible < ENOUGH:
        return Collapse("none", "", spread, dimensions)
    if float(shares[0]) > LINE:
        sentence = f"{float(shares[0]):.0%} of the variance lies along one direction"
        return Collapse("line", sentence, spread, dimensions)
    if dimensions < max(2.0, FEW * possible):
        sentence = f"embeddings fill {dimensions:.1f} of {possible} dimensions"
        return Collapse("few_dimensions", sentence, spread, dimensions)
    return Collapse("none", "", spread, dimensions)


def spaced_rows(n: int, at_most: int) -> np.ndarray:
    """Return at most `at_most` of the row numbers 0..n-1, evenly spaced."""
    return np.arange(n) if n <= at_most else np.linspace(0, n - 1, at_most).round().astype(np.int64)


def pair_blocks(rows: np.ndarray, classes: np.ndarray, *, block: int = 1024) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the squared distances of all pairs i < j of `rows` (n, d, float64), and whether each is of one class.

    In blocks of at most `block` squared.
    """
    halves = np.einsum("ij,ij->i", rows, rows) / 2
    for i in range(0, len(rows), block):
        left = slice(i, i + block)
        for j in range(i, len(rows), block):
            right = slice(j, j + block)
            squared = 2 * (halves[left, None] + halves[right] - rows[left] @ rows[right].T)
            is_same = classes[left, None] == classes[right]
            if i == j:
                above = np.triu_indices(len(squared), 1)
                squared, is_same = squared[above], is_same[above]
            yield np.maximum(squared, 0).ravel(), is_same.ravel()


FLOOR = 1e-12


def decay(singular_values: np.ndarray, *, from_uniform: bool = True) -> tuple[float, int]:
    """Return KL(U || q), or KL(q || U), of the values' shares q; and how many shares were raised to 1e-12."""
    total = singular_values.sum()
    shares = singular_values / total if total > 0 else np.zeros(len(singular_values))
    n_floored = int((shares < FLOOR).sum())
    q = np.maximum(shares, FLOOR)
    n = len(q)
    divergence = -np.log(q * n).mean() if from_uniform else (q * np.log(q * n)).sum()
    return float(divergence), n_floored


def singular_values(blocks: Iterable[np.ndarray]) -> np.ndarray:
    """Return the singular values, descending, of the matrix whose rows come in `blocks` (n_k, d): min(n, d) of them."""
    triangle: np.ndarray | None = None
    with single_threaded_blas():
        for block in blocks:
            rows = block.astype(np.float64)
            stacked = rows if triangle is None else np.concatenate([triangle, rows])
            triangle = np.asarray(np.linalg.qr(stacked, mode="r"))
        assert triangle is not None
        values: np.ndarray = np.linalg.svd(triangle, compute_uv=False)
    return values


class PrincipalAxes(NamedTuple):
    """`axes` (d, d) are unit rows, that of the largest variance first; the features less `mean`, over `deviation`.

    `spread` (d,) is the deviation along each axis.
    """

    mean: torch.Tensor
    deviation: torch.Tensor
    axes: torch.Tensor
    spread: torch.Tensor
    n: int

    def projection(self, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return weight (dim, d) and bias (dim,) such that weight @ feature + bias is the point on the first axes."""
        weight = self.axes[:dim] / self.deviation
        return weight, -(weight @ self.mean)


def principal_axes(blocks: Iterable[torch.Tensor], *, standardise: bool) -> PrincipalAxes:
    """Return the principal axes of all rows of all blocks (n, d), in float64 and in the memory of one block and d x d.

    A dimension that never changes is left at a deviation of 1, for it has nothing to say on any axis.
    """
    rest = iter(blocks)
    # Not every accelerator knows float64.
    first = next(rest).cpu().double()
    # Sums of squares about a point far from the mean would lose the digits that matter.
    shift = first.mean(0)
    n, total, products = 0, torch.zeros_like(shift), torch.zeros(len(shift), len(shift)).to(shift)
    for block in chain([first], rest):
        rows = block.cpu().double() - shift
        n += len(rows)
        total += rows.sum(0)
        products.addmm_(rows.T, rows)
    offset = total / n
    covariance = products / n - torch.outer(offset, offset)
    variance = covariance.diagonal().clamp(min=0)
    # What rounding leaves of a constant must not be blown up to a deviation of 1.
    is_constant = variance <= 1e-14 * (products.diagonal() / n + shift**2)
    one = torch.ones_like(variance)
    deviation = torch.where(is_constant, one, variance.sqrt()) if standardise else one
    scaled = covariance / torch.outer(deviation, deviation)
    # LAPACK gives the smallest first.
    variances, vectors = torch.linalg.eigh(scaled)
    axes = vectors.T.flip(0)
    # An axis has no direction of its own: let its largest entry be positive, so that all machines agree.
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    spread = variances.flip(0).clamp(min=0).sqrt()
    return PrincipalAxes(mean=shift + offset, deviation=deviation, axes=axes * largest.sign(), spread=spread, n=n)


def principal_axes_of_few(features: torch.Tensor) -> PrincipalAxes:
    """Return the first n principal axes of n features (n, d) with n < d, at a cost of n^2 d instead of d^3."""
    rows = features.double()
    mean = rows.mean(0)
    _, values, axes = torch.linalg.svd(rows - mean, full_matrices=False)
    largest = axes.gather(1, axes.abs().argmax(1, keepdim=True))
    return PrincipalAxes(
        mean=mean,
        deviation=torch.ones_like(mean),
        axes=axes * largest.sign(),
        spread=values / len(rows) ** 0.5,
        n=len(rows),
    )


class ClassScatter(NamedTuple):
    """`mean` (d,), `within` and `total` (d, d), `means` (C, d) of the classes, `counts` (C,) their sizes; float64."""

    mean: torch.Tensor
    within: torch.Tensor
    total: torch.Tensor
    means: torch.Tensor
    counts: torch.Tensor

    @property
    def n(self) -> int:
        """How many features there are."""
        return int(self.counts.sum())


def class_scatter(blocks: Iterable[torch.Tensor], labels: torch.Tensor) -> ClassScatter:
    """Return the scatter of all rows of all blocks (n, d), whose classes are `labels` (N,) in the order of the rows.

    In the memory of one block, the class means and d x d.
    """
    _, places = torch.unique(labels.cpu(), return_inverse=True)
    counts = torch.bincount(places).double()
    require(
        len(places) > len(counts) > 1,
        f"scatter within classes needs two classes or more and a class of two images; got {len(places)} images of "
        f"{len(counts)} classes",
    )
    shift: torch.Tensor | None = None
    begin, sums, products = 0, torch.empty(0), torch.empty(0)
    for block in blocks:
        # Not every accelerator knows float64.
        rows = block.detach().cpu().double()
        if shift is None:
            # Sums of squares about a point far from the mean would lose the digits that matter.
            shift = rows.mean(0)
            sums = torch.zeros(len(counts), len(shift)).double()
            products = torch.zeros(len(shift), len(shift)).double()
        rows = rows - shift
        sums.index_add_(0, places[begin : begin + len(rows)], rows)
        products.addmm_(rows.T, rows)
        begin += len(rows)
    require(begin == len(places), f"every feature needs a label; got {begin} features and {len(places)} labels")
    assert shift is not None
    means = sums / counts[:, None]
    offset = sums.sum(0) / begin
    within = (products - means.T @ sums) / (begin - len(counts))
    total = products / begin - torch.outer(offset, offset)
    return ClassScatter(
        mean=shift + offset, within=_symmetric(within), total=_symmetric(total), means=shift + means, counts=counts
    )


def _symmetric(matrix: torch.Tensor) -> torch.Tensor:
    return (matrix + matrix.T) / 2
