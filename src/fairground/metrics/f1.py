"""F1 of a k-means clustering, counted over pairs of rows that are, and that should be, together.

Formula
    TP = sum_ij C(n_ij, 2),  P = TP / sum_j C(n_.j, 2),  Rc = TP / sum_i C(n_i., 2)
    F1 = 2 P Rc / (P + Rc), 0 where TP = 0;  n_ij rows of class i are in cluster j

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    eq. 28, as its code computes it.

Departures from the paper
    The text speaks of precision and recall over nearest neighbours; the code, and this, counts pairs of a clustering.
"""

import numpy as np

from fairground.contracts.metric import ClusteringMetric, Contingency


class F1Metric(ClusteringMetric):
    """Takes no settings."""

    title = "F1"

    def score(self, table: Contingency) -> float:
        together = _pairs(table.counts)
        if together == 0:
            return 0.0
        return 2 * together / (_pairs(table.cluster_sizes) + _pairs(table.class_sizes))


def _pairs(sizes: np.ndarray) -> float:
    return float((sizes * (sizes - 1.0) / 2).sum())
