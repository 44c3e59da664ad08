"""Metrics that need clusters, from one clustering.

Flaw
    MLRC section 2.2: NMI and F1 need the embeddings clustered first, which brings in the choice of algorithm and the
    seed of its start; the same embeddings score differently from seed to seed.
"""

from fairground.fairness.evidence import Evidence, Flag
from fairground.fairness.told import clustering_seeds_of

METRICS = ("nmi", "ami", "f1", "purity")


def check(evidence: Evidence) -> list[Flag]:
    """Return one flag for the clustering metrics that were scored from a single seed of the clustering."""
    once = {
        (label, score.metric)
        for label, records in evidence.done.items()
        for record in records
        for score in record.scores
        if score.metric in METRICS and clustering_seeds_of(record) < 2
    }
    if not once:
        return []
    metrics = ", ".join(sorted({metric for _, metric in once}))
    text = f"From a single clustering, without the spread over its seeds: {metrics}."
    why = "k-means started elsewhere gives the same embeddings another score (MLRC 2.2)."
    return [Flag(flag="clustering", methods=tuple(sorted({label for label, _ in once})), text=text, why=why)]
