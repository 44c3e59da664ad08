"""Distance in the Poincaré ball, by way of the hyperboloid, where it is a product of vectors and heights.

Formula
    v cut to the length `longest`, a = min(sqrt(c) |v|, artanh(1 - 10^-3)), p = sinh(2 a) v / |v|
    cosh(sqrt(c) D(x, y)) - 1 = t_x t_y + t_x + t_y - <p_x, p_y>,  t = sqrt(1 + |p|^2) - 1 = cosh(2 a) - 1
    (the 1 is left out on both sides, so that short vectors keep all their digits)

Paper
    Ermolov et al., CVPR 2022, section 3: D of the points tanh(a) v / (sqrt(c) |v|), as `pairwise_cross_entropy` has it.

Departures from the paper
    None. The authors' code also cuts the argument of the artanh, which makes ties of everything farther.
"""

from math import atanh, sqrt
from typing import NamedTuple

import numpy as np

from fairground.retrieval import require, squared_lengths

#: of the largest radius as a share of the ball's
_LARGEST = atanh(1 - 1e-3)


class Poincare(NamedTuple):
    """A ball of a `curvature`; vectors are cut to the length `longest` first."""

    curvature: float = 0.1
    longest: float = 2.3

    def check(self) -> None:
        require(self.curvature > 0, f"poincare.curvature must be above 0; got {self.curvature}")
        require(self.longest > 0, f"poincare.longest must be above 0; got {self.longest}")

    def place(self, block: np.ndarray) -> None:
        """Put rows v on the hyperboloid, as p, in place; a zero row stays zero."""
        lengths = np.sqrt(squared_lengths(block))
        half = np.minimum(sqrt(self.curvature) * np.minimum(lengths, self.longest), _LARGEST)
        block *= (np.sinh(2 * half) / np.where(lengths > 0, lengths, 1))[:, None]

    def distances(self, mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """Return D (r, c) of rows p."""
        t, u = (heights(squared_lengths(rows)) for rows in (mine, theirs))
        found = np.maximum(np.multiply.outer(t, u) + np.add.outer(t, u) - mine @ theirs.T, 0)
        return np.asarray(np.log1p(found + np.sqrt(found * (found + 2))) / sqrt(self.curvature))


def heights(squares: np.ndarray) -> np.ndarray:
    """Return t by the squared lengths of rows p."""
    return np.asarray(squares / (1 + np.sqrt(1 + squares)))
