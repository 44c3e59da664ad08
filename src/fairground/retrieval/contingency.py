"""How two labelings of the same rows overlap, and the information they share, counted or expected by chance."""

import numpy as np
from scipy.special import gammaln

from fairground.contracts.metric import Contingency
from fairground.retrieval.ranks import blocks

#: terms of the expected information evaluated at once
TERMS = 2**20


def contingency(classes: np.ndarray, clusters: np.ndarray) -> Contingency:
    """Return the overlap of two labelings (n,) with numbers from 0; empty classes and clusters are left out."""
    _, rows = np.unique(classes, return_inverse=True)
    _, columns = np.unique(clusters, return_inverse=True)
    width = int(columns.max()) + 1
    cells, counts = np.unique(rows.astype(np.int64) * width + columns, return_counts=True)
    return Contingency(classes=cells // width, clusters=cells % width, counts=counts)


def entropy(sizes: np.ndarray) -> float:
    share = sizes[sizes > 0] / sizes.sum()
    return float(-(share * np.log(share)).sum())


def mutual_information(table: Contingency) -> float:
    n = table.counts.sum()
    expected = table.class_sizes[table.classes] * table.cluster_sizes[table.clusters]
    terms = table.counts / n * (np.log(table.counts) + np.log(n) - np.log(expected))
    return max(float(terms.sum()), 0.0)


def expected_mutual_information(class_sizes: np.ndarray, cluster_sizes: np.ndarray) -> float:
    """Return the mean shared information over all labelings with these sizes (hypergeometric)."""
    n = int(class_sizes.sum())
    # A sum over pairs of a class and a cluster that depends on their sizes only: equal sizes are computed once.
    mine, n_mine = np.unique(class_sizes[class_sizes > 0].astype(np.int64), return_counts=True)
    theirs, n_theirs = np.unique(cluster_sizes[cluster_sizes > 0].astype(np.int64), return_counts=True)
    log_factorial = gammaln(np.arange(n + 1) + 1.0)
    a, b = (side.ravel() for side in np.meshgrid(mine, theirs, indexing="ij"))
    weight = np.outer(n_mine, n_theirs).ravel().astype(np.float64)
    n_terms = np.minimum(a, b) - np.maximum(a + b - n, 1) + 1
    total = 0.0
    for span in blocks(n_terms, TERMS):
        here = slice(*span)
        total += float(weight[here] @ _terms(a[here], b[here], n_terms[here], n, log_factorial))
    return total


def _terms(a: np.ndarray, b: np.ndarray, n_terms: np.ndarray, n: int, log_factorial: np.ndarray) -> np.ndarray:
    """Return, for each pair of sizes, the sum over how many rows k the two could share."""
    first = np.cumsum(n_terms) - n_terms
    lowest = np.maximum(a + b - n, 1)
    k = np.arange(n_terms.sum()) - np.repeat(first - lowest, n_terms)
    always = log_factorial[a] + log_factorial[b] + log_factorial[n - a] + log_factorial[n - b] - log_factorial[n]
    a, b = np.repeat(a, n_terms), np.repeat(b, n_terms)
    log_chance = np.repeat(always, n_terms) - (
        log_factorial[k] + log_factorial[a - k] + log_factorial[b - k] + log_factorial[n - a - b + k]
    )
    values = k / n * (np.log(n) + np.log(k) - np.log(a) - np.log(b)) * np.exp(log_chance)
    return np.asarray(np.add.reduceat(values, first))
