"""Spectral decay rho: how far the singular values of an embedding space are from all being equal.

Formula
    rho = KL(U || q) = (1/D') sum_i log((1/D') / q_i),  q = s / sum(s) over the D' singular values left
    s: singular values of the matrix of unit embeddings, not centred, the largest `drop_top` (and the smallest
    `drop_last`) left out;  `direction="to_uniform"`: KL(q || U) = sum_i q_i log(q_i D')

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    section 5. Their code's options: @1 drops none, @2 one, @10 nine; a negative one turns the divergence round.

Departures from the paper
    U has as many entries as values are left; the paper prints D although one is dropped. Their CPU code's truncated SVD
    also loses the smallest value: `drop_last=1`. Values of zero would make rho infinite: q is floored at 1e-12, and a
    remark says so.
"""

from typing import Literal

import numpy as np

from fairground.contracts.analysis import Analysis, EmbeddingSpace, Findings, require
from fairground.functional.spectra import decay


class RhoAnalysis(Analysis):
    """`drop_top` and `drop_last` leave out the largest and smallest singular values."""

    bounds = {"drop_top": "[0, inf)", "drop_last": "[0, inf)"}

    def __init__(
        self,
        *,
        drop_top: int = 1,
        drop_last: int = 0,
        direction: Literal["from_uniform", "to_uniform"] = "from_uniform",
    ) -> None:
        self.drop_top, self.drop_last, self.direction = drop_top, drop_last, direction

    def measure(self, space: EmbeddingSpace) -> Findings:
        values = space.singular_values
        n_left = len(values) - self.drop_top - self.drop_last
        dropped = f"{self.drop_top + self.drop_last} of {len(values)} singular values"
        require(n_left >= 1, f"rho drops {dropped}: none is left")
        left = values[self.drop_top : self.drop_top + n_left]
        rho, n_floored = decay(left, from_uniform=self.direction == "from_uniform")
        remark = f"{n_floored} of {n_left} singular values are zero: rho is a floor of infinity"
        curves = {"kept_singular_values": np.array(left)}
        return Findings(values={"rho": rho}, remarks=(remark,) if n_floored else (), curves=curves)
