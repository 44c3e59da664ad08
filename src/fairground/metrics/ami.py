"""AMI, mutual information of classes and k-means clusters adjusted for chance.

Formula
    AMI = (I - E[I]) / (mean(H(classes), H(clusters)) - E[I]),  E over all labelings with the same sizes

Paper
    Vinh, Epps and Bailey, "Information theoretic measures for clusterings comparison", JMLR 2010, eq. 24a and AMI_sum.

Departures from the paper
    None. Where the mean entropy equals E[I] (one cluster, or every row its own) a perfect match scores 1.
"""

from fairground.contracts.metric import ClusteringMetric, Contingency
from fairground.retrieval.contingency import entropy, expected_mutual_information, mutual_information


class AmiMetric(ClusteringMetric):
    """Takes no settings."""

    title = "AMI"
    lowest = -1.0
    aliases = ("adjusted_mutual_information", "adjusted_mutual_info")

    def score(self, table: Contingency) -> float:
        mean = (entropy(table.class_sizes) + entropy(table.cluster_sizes)) / 2
        expected = expected_mutual_information(table.class_sizes, table.cluster_sizes)
        room = mean - expected
        # Below this the two differ by rounding alone, and their quotient would be noise.
        if room <= 1e-12 * max(mean, 1.0):
            return 1.0
        return (mutual_information(table) - expected) / room
