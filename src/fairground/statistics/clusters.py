"""Two models compared query by query: queries of one class rise and fall together, so that classes are counted.

Formula
    d_i = a_i - b_i for query i;  mean = sum(d) / N over all N queries
    variance of the mean = G / (G - 1) * sum over G classes of (sum over its queries of (d_i - mean))^2 / N^2
    t with G - 1 degrees of freedom

Paper
    Liang and Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 1986; Cameron and Miller,
    "A practitioner's guide to cluster-robust inference", 2015, for G / (G - 1) and the degrees of freedom.

To be borne in mind
    It speaks about these two models on further classes. Whether the METHODS differ takes several trainings of each.
"""

import math
from collections.abc import Sequence

import numpy as np

from fairground.errors import require
from fairground.statistics.intervals import LEVEL
from fairground.statistics.paired import Test, differences, from_error


def clustered_t(a: Sequence[float], b: Sequence[float], labels: Sequence[int], *, level: float = LEVEL) -> Test:
    """Return the test of the mean difference over queries; `labels` is each query's class, `n` counts classes."""
    require(len(labels) == len(a), f"every query needs a class; got {len(labels)} labels for {len(a)} queries")
    d = np.array(differences(a, b))
    _, groups = np.unique(np.asarray(labels), return_inverse=True)
    n_groups = int(groups.max()) + 1
    require(n_groups >= 2, "queries of at least 2 classes are needed; got 1 class")
    mean = float(d.mean())
    sums = np.bincount(groups, weights=d - mean, minlength=n_groups)
    variance = n_groups / (n_groups - 1) * float((sums**2).sum()) / len(d) ** 2
    return from_error(mean, math.sqrt(variance), n_groups - 1, n=n_groups, level=level, kind="clustered t")
