"""From which similarity on two images are taken for one class: found on the validation split, with its error rates.

Formula
    FMR(t) = share of pairs of different classes with s >= t,  FNMR(t) = share of pairs of one class with s < t
    "fmr 1 %": the lowest t of a genuine pair with FMR(t) <= 0.01; "eer": the t where the two rates are nearest

Paper
    ISO/IEC 19795-1, "Biometric performance testing and reporting", 2021.

Departures from the paper
    None. The rates are those of single pairs; `open_set.py` decides about a query compared with an entire index.
"""

import numpy as np

from fairground.deploy.metadata import Threshold
from fairground.evaluation.embedding_view import GENUINE_LIMIT, EmbeddingView

FMR = "fmr 1 %"
EER = "eer"
_ALLOWED = 0.01


def thresholds_of(view: EmbeddingView) -> tuple[Threshold, ...]:
    """Return both thresholds, or none where the view has no two rows of one class or no two classes."""
    wanted = view.relevance
    n_genuine = int(wanted.n_relevant.sum())
    n_classes = 0 if view.classes is None else len(view.classes.names)
    if n_genuine == 0 or n_classes < 2 or n_genuine > GENUINE_LIMIT:
        return ()
    curve = view.curve
    counts = curve.verification
    # From a similarity on, everything as similar or more passes.
    fmr = (counts.impostors_above + counts.impostors_equal) / counts.n_impostors
    fnmr = (np.cumsum(counts.genuine) - counts.genuine) / counts.genuine.sum()
    similarities = as_similarity(curve.similarities, is_raw=view.is_raw)

    def at(name: str, index: int) -> Threshold:
        return Threshold(
            name=name,
            similarity=float(similarities[index]),
            fmr=float(fmr[index]),
            fnmr=float(fnmr[index]),
            n_genuine=int(counts.genuine.sum()),
            n_impostors=int(counts.n_impostors),
        )

    allowed = np.flatnonzero(fmr <= _ALLOWED)
    strict = [at(FMR, int(allowed[0]))] if len(allowed) else []
    return (*strict, at(EER, int(np.abs(fmr - fnmr).argmin())))


def as_similarity(scores: np.ndarray, *, is_raw: bool) -> np.ndarray:
    """Return cosines as they are; minus half squared distances of raw embeddings as minus the distances."""
    if not is_raw:
        return scores
    distances: np.ndarray = np.sqrt(np.maximum(-2.0 * scores, 0.0))
    return -distances
