"""The spectrum of an embedding space: its singular values as shares of their sum.

Formula
    q_i = s_i / sum(s),  s: singular values of the matrix of unit embeddings, not centred, descending

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    section 5 and figure 6 (option @0 in their code).

Departures from the paper
    None.
"""

from fairground.contracts.analysis import Analysis, EmbeddingSpace, Findings


class SpectrumAnalysis(Analysis):
    """Takes no settings."""

    def measure(self, space: EmbeddingSpace) -> Findings:
        values = space.singular_values
        shares = values / max(values.sum(), 1e-300)
        return Findings(values={"largest_share": float(shares[0])}, curves={"spectrum": shares})
