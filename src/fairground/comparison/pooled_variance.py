"""The variances of methods and of seeds: that of a method is drawn towards that of all methods together.

Formula, in the notation of `paired_table`
    Q_i the sum of squared residuals over the runs of method i, d_i its expectation where all sigma_i = 1
    variances  s_0^2 = sum_i Q_i / sum_i d_i;   v_i = (PRIOR s_0^2 + Q_i) / (PRIOR + d_i)
               Three runs know their variance up to a factor of 40, the runs of all methods far better.
    blocks     MS_b the mean square of seeds adjusted for methods:  E MS_b = sigma^2 + k_0 var(b);
               var(b) is estimated as MS_b / k_0, which is never too small on average

Paper
    Henderson, "Estimation of variance and covariance components", Biometrics 1953, method III, for MS_b and k_0.
    Smyth, "Linear models and empirical Bayes methods for assessing differential expression in microarray experiments",
    2004, section 3 (moderated t), for v_i.

Departures from the paper
    PRIOR is fixed. Smyth estimates it from the spread of the variances; four methods of three runs hardly determine it,
    and where the spread looks small by chance the test would trust the pooled variance too much. In simulations a fixed
    value separates more methods at the same error rate. Eight stands for: sigma_i within a factor of 1.7 of each other
    in two of three methods.
"""

from typing import NamedTuple

import numpy as np

from fairground.comparison.paired_table import Array, Layout

#: degrees of freedom that the variance of all methods counts for
PRIOR = 8.0


class Scatter(NamedTuple):
    """`own` (..., methods) are the variances v_i of a run, `pooled` s_0^2, `seeds` the variance var(b).

    `ratio` is var(b) / var(e), 0 where seeds do not scatter more than runs.
    """

    own: Array
    pooled: Array
    seeds: Array
    ratio: Array


def scatter_of(layout: Layout, y: Array) -> Scatter:
    """Return the variances of one study, or of many at once: `y` is (..., runs)."""
    if layout.is_complete:
        table = y.reshape(*y.shape[:-1], *layout.has_run.shape)
        centred = table - table.mean(axis=-1, keepdims=True)
        of_seeds = centred.mean(axis=-2)
        centred -= of_seeds[..., None, :]
        q = np.einsum("...ks,...ks->...k", centred, centred)
        on_blocks = layout.n_methods * (of_seeds**2).sum(axis=-1)
    else:
        fitted = y @ layout.basis
        q = ((y - fitted @ layout.basis.T) ** 2) @ layout.methods
        on_blocks = (fitted[..., layout.n_methods :] ** 2).sum(axis=-1)
    pooled = q.sum(axis=-1) / max(float(layout.freedom.sum()), 1e-300)
    own = (PRIOR * pooled[..., None] + q) / (PRIOR + layout.freedom)
    freedom = layout.block_freedom
    seeds = on_blocks / freedom / layout.block_weight if freedom else np.zeros_like(pooled)
    ratio = np.divide(seeds, pooled, out=np.zeros_like(pooled), where=pooled > 0)
    return Scatter(own=own, pooled=pooled, seeds=seeds, ratio=np.maximum(0.0, ratio - 1 / layout.block_weight))
