"""The spectrum of an embedding space: its singular values as shares of their sum.

Formula
    q_i = s_i / sum(s),  s: singular values of the matrix of unit embeddings, not centred, descending

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    section 5 and figure 6 (option @0 in their code).

Departures from the paper
    Of a space of two dimensions, as in figures 6 and 11, up to 1,000 points are kept to be drawn.
"""

import numpy as np

from fairground.contracts.analysis import Analysis, EmbeddingSpace, Findings

MOST_POINTS = 1000


class SpectrumAnalysis(Analysis):
    """Takes no settings."""

    def measure(self, space: EmbeddingSpace) -> Findings:
        values = space.singular_values
        shares = values / max(values.sum(), 1e-300)
        curves = {"spectrum": shares}
        if len(values) == 2:
            some = np.arange(min(space.n_rows, MOST_POINTS))
            curves |= {"points": space.rows(some), "classes": space.row_classes[some]}
        return Findings(values={"largest_share": float(shares[0])}, curves=curves)
