"""Hubness: whether a few rows are among the nearest neighbours of very many others.

Formula
    N_k(i) = number of rows that have i among their k nearest;  hubness = skewness of N_k
    orphans = share of rows with N_k = 0;  largest_hub = max N_k / k

Paper
    Radovanović, Nanopoulos and Ivanović, "Hubs in space", JMLR 2010.

Departures from the paper
    None.
"""

import numpy as np

from fairground.contracts.analysis import Analysis, EmbeddingSpace, Findings


class HubnessAnalysis(Analysis):
    """`k` is how many nearest neighbours each row names; fewer where there are fewer other rows."""

    bounds = {"k": "[1, inf)"}

    def __init__(self, *, k: int = 10) -> None:
        self.k = k

    def measure(self, space: EmbeddingSpace) -> Findings:
        k = max(1, min(self.k, space.n_rows - 1))
        named = space.neighbour_numbers(k)
        counts = np.bincount(named[named >= 0], minlength=space.n_rows).astype(np.float64)
        gap = counts - counts.mean()
        deviation = np.sqrt((gap**2).mean())
        skewness = float((gap**3).mean() / deviation**3) if deviation > 0 else 0.0
        orphans, largest = float((counts == 0).mean()), float(counts.max() / k)
        values = {"hubness": skewness, "orphans": orphans, "largest_hub": largest}
        return Findings(values=values, curves={"named_by": counts})
