"""Purity: the share of rows that belong to the most frequent class of their k-means cluster.

Formula
    purity = (1/n) sum_j max_i n_ij

Paper
    Manning, Raghavan and Schütze, "Introduction to information retrieval", 2008, section 16.3.

Departures from the paper
    None.
"""

import numpy as np

from fairground.contracts.metric import ClusteringMetric, Contingency


class PurityMetric(ClusteringMetric):
    """Takes no settings."""

    title = "Purity"

    def score(self, table: Contingency) -> float:
        largest = np.zeros(int(table.clusters.max()) + 1)
        np.maximum.at(largest, table.clusters, table.counts)
        return float(largest.sum() / table.counts.sum())
