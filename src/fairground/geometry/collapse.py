"""Name the way an embedding space has collapsed, from a batch or a whole set of embeddings.

A model has collapsed when its embeddings no longer tell images apart: all at one point, all along one line, or in far
fewer dimensions than it has. Losses often look healthy meanwhile, so the embeddings themselves are looked at.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fairground.geometry.distances import unit

Kind = Literal["none", "not_finite", "zero", "point", "line", "few_dimensions"]
#: mean squared distance to the mean (of unit vectors) below which all are at one point
POINT = 1e-3
#: share of the variance along one direction above which all are on one line
LINE = 0.95
#: effective dimensions, as a share of those there could be, below which they are few
FEW = 0.03
#: with fewer dimensions than this, a line or a plane is what there is
ENOUGH = 8


@dataclass(frozen=True, kw_only=True)
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
def collapse_of(embeddings: Tensor) -> Collapse:
    """Return what embeddings (n, d), raw or unit, show; two rows at least."""
    finite = embeddings.isfinite().all(1)
    n, d = embeddings.shape
    if not bool(finite.all()):
        return _seen("not_finite", f"{int((~finite).sum())} of {n} embeddings are not finite", 0.0, 0.0)
    wide = embeddings.detach().double()
    n_zero = int((wide.norm(dim=1) < 1e-12).sum())
    if n_zero > n / 2:
        return _seen("zero", f"{n_zero} of {n} embeddings are zero", 0.0, 0.0)
    points = unit(wide)
    centred = points - points.mean(0)
    spread = float(centred.square().sum(1).mean())
    if spread < POINT:
        return _seen("point", f"all embeddings lie at one point (spread {spread:.1e})", spread, 0.0)
    variances = torch.linalg.svdvals(centred).square()
    shares = variances / variances.sum()
    dimensions = float(torch.special.entr(shares).sum().exp())
    possible = min(n - 1, d)
    if possible < ENOUGH:
        return _seen("none", "", spread, dimensions)
    if float(shares[0]) > LINE:
        sentence = f"{float(shares[0]):.0%} of the variance lies along one direction"
        return _seen("line", sentence, spread, dimensions)
    if dimensions < max(2.0, FEW * possible):
        sentence = f"embeddings fill {dimensions:.1f} of {possible} dimensions"
        return _seen("few_dimensions", sentence, spread, dimensions)
    return _seen("none", "", spread, dimensions)


def _seen(kind: Kind, sentence: str, spread: float, dimensions: float) -> Collapse:
    return Collapse(kind=kind, sentence=sentence, spread=spread, effective_dimensions=dimensions)
