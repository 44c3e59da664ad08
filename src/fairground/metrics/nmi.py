"""NMI, normalised mutual information of classes and k-means clusters.

Formula
    NMI = 2 I(classes; clusters) / (H(classes) + H(clusters));  1 when both entropies are 0

Paper
    Roth et al., "Revisiting training strategies and generalization performance in deep metric learning", ICML 2020,
    eq. 27; the arithmetic mean as in scikit-learn from 0.22 on.

Departures from the paper
    Eq. 27 as printed divides by 2 (H + H), so that a perfect clustering would score 1/4; this is what the code
    computes. The number of clusters is that of the classes evaluated; the paper's code takes that of the training set.
"""

from fairground.contracts.metric import ClusteringMetric, Contingency
from fairground.retrieval.contingency import entropy, mutual_information


class NmiMetric(ClusteringMetric):
    """Takes no settings."""

    title = "NMI"
    aliases = ("normalised_mutual_information", "normalized_mutual_information")

    def score(self, table: Contingency) -> float:
        total = entropy(table.class_sizes) + entropy(table.cluster_sizes)
        return 2 * mutual_information(table) / total if total > 0 else 1.0
