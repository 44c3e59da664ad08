"""Class-conditioned spectra: the singular values within each class, averaged over classes.

Formula
    mean over classes c of s(Z_c) / sum(s(Z_c)),  Z_c: the rows of class c, not centred; short spectra end in zeros
    class_rho = mean over classes of rho(s(Z_c)) with the largest `drop_top` left out

Paper
    Verma et al., "Manifold mixup", ICML 2019, section 3; Roth et al., ICML 2020, supplement B.

Departures from the paper
    Spectra are averaged as shares, so that a large class does not outweigh a small one. A class with too few rows to
    have a spectrum after dropping is left out of class_rho.
"""

import numpy as np

from fairground.contracts.analysis import Analysis, EmbeddingSpace, Findings
from fairground.functional.spectra import decay, singular_values


class ClassSpectraAnalysis(Analysis):
    """`drop_top` is how many of each class's largest values class_rho leaves out."""

    bounds = {"drop_top": "[0, inf)"}

    def __init__(self, *, drop_top: int = 1) -> None:
        self.drop_top = drop_top

    def measure(self, space: EmbeddingSpace) -> Findings:
        order = np.argsort(space.row_classes, kind="stable")
        members = np.split(order, np.flatnonzero(np.diff(space.row_classes[order])) + 1)
        spectra = [singular_values([space.rows(rows)]) for rows in members]
        mean = np.zeros(max(len(values) for values in spectra))
        for values in spectra:
            mean[: len(values)] += values / max(values.sum(), 1e-300) / len(spectra)
        rhos = [decay(values[self.drop_top :])[0] for values in spectra if len(values) > self.drop_top + 1]
        found = {"class_rho": float(np.mean(rhos))} if rhos else {}
        n_short = len(spectra) - len(rhos)
        remarks = (f"{n_short} of {len(spectra)} classes have too few rows for class_rho",) if n_short else ()
        return Findings(values=found, curves={"class_spectrum": mean}, remarks=remarks)
