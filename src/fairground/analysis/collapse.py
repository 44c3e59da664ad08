"""Collapse: whether the embeddings have shrunk to a point, a line or few dimensions, and which.

Formula
    spread = mean |z_i - mean(z)|^2 on unit vectors
    effective dimensions = exp(H(q)),  q: shares of the variance along the principal axes
    point: spread < 0.001;  line: one axis has more than 95 % of the variance;  few dimensions: fewer than 3 % of those
    there could be, or fewer than 2

Paper
    Jing et al., "Understanding dimensional collapse in contrastive self-supervised learning", ICLR 2022, for collapse
    of dimensions; the limits are ours.

Departures from the paper
    Looks at no more than `max_rows` evenly spaced rows.
"""

from typing import Literal, NamedTuple

import torch

from fairground.contracts.analysis import Analysis, DataError, EmbeddingSpace, Findings, require
from fairground.functional.pair_distances import normalize, spaced_rows

Kind = Literal["none", "not_finite", "zero", "point", "line", "few_dimensions"]
#: mean squared distance to the mean (of unit vectors) below which all are at one point
POINT = 1e-3
#: share of the variance along one direction above which all are on one line
LINE = 0.95
#: effective dimensions, as a share of those there could be, below which they are few
FEW = 0.03
#: with fewer dimensions than this, a line or a plane is what there is
ENOUGH = 8


class Collapse(NamedTuple):
    """`kind` is what was seen ("none" if nothing is wrong) and `sentence` says it with numbers."""

    kind: Kind
    sentence: str
    spread: float
    effective_dimensions: float

    @property
    def is_collapsed(self) -> bool:
        return self.kind != "none"


@torch.no_grad()
def collapse_of(embeddings: torch.Tensor) -> Collapse:
    """Return what embeddings (n, d), raw or unit, show; two rows at least."""
    # In main memory: not every device has float64, and each number of the answer would be waited for.
    embeddings = embeddings.detach().cpu()
    finite = embeddings.isfinite().all(1)
    n, d = embeddings.shape
    if not bool(finite.all()):
        return Collapse("not_finite", f"{int((~finite).sum())} of {n} embeddings are not finite", 0.0, 0.0)
    wide = embeddings.double()
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
        return Collapse("line", f"{float(shares[0]):.0%} of the variance lies along one direction", spread, dimensions)
    if dimensions < max(2.0, FEW * possible):
        sentence = f"embeddings fill {dimensions:.1f} of {possible} dimensions"
        return Collapse("few_dimensions", sentence, spread, dimensions)
    return Collapse("none", "", spread, dimensions)


class CollapseAnalysis(Analysis):
    """`max_rows` is how many rows are looked at; training calls `collapse_of` on a batch itself."""

    bounds = {"max_rows": "[2, inf)"}

    def __init__(self, *, max_rows: int = 4096) -> None:
        self.max_rows = max_rows

    def measure(self, space: EmbeddingSpace) -> Findings:
        require(space.n_rows > 1, "collapse needs two rows at least", DataError)
        seen = collapse_of(torch.from_numpy(space.rows(spaced_rows(space.n_rows, self.max_rows))))
        remarks = (f"collapse ({seen.kind}): {seen.sentence}",) if seen.is_collapsed else ()
        found = {"is_collapsed": float(seen.is_collapsed), "spread": seen.spread}
        return Findings(values={**found, "effective_dimensions": seen.effective_dimensions}, remarks=remarks)
