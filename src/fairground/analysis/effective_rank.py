"""Effective rank: how many directions an embedding space really uses.

Formula
    erank = exp(H(q)),  H(q) = -sum_i q_i log q_i,  q = s / sum(s) over the singular values, not centred

Paper
    Roy and Vetterli, "The effective rank: a measure of effective dimensionality", EUSIPCO 2007.

Departures from the paper
    None.
"""

import numpy as np
from scipy.special import entr

from fairground.contracts.analysis import Analysis, EmbeddingSpace, Findings


class EffectiveRankAnalysis(Analysis):
    """Takes no settings."""

    def measure(self, space: EmbeddingSpace) -> Findings:
        values = space.singular_values
        shares = values / max(values.sum(), 1e-300)
        return Findings(values={"effective_rank": float(np.exp(entr(shares).sum()))})
