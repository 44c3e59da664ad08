"""From which similarity on two images count as one class: thresholds found on the validation split, with error rates.

Formula
    "fmr 1 %": the lowest t of a genuine pair with FMR(t) <= 0.01; "eer": the t where FMR and FNMR are nearest
    (rates of single pairs, as in `metrics/fnmr.py`; `unknown_classes.py` compares a query with an entire index)
"""

import numpy as np

from fairground.deploy.metadata import Threshold
from fairground.evaluation import GENUINE_LIMIT, EmbeddingView

#: names of thresholds, and the rate that the first allows
FMR, EER, _ALLOWED = "fmr 1 %", "eer", 0.01
#: validation rows that the threshold is found on, at most: pairs grow with their square
MOST_ROWS = 5000


def thresholds_of(view: EmbeddingView) -> tuple[Threshold, ...]:
    """Return both thresholds, or none if the view has no two rows of one class or no two classes."""
    n_pairs = int(view.relevance.n_relevant.sum())
    n_classes = 0 if view.classes is None else len(view.classes.names)
    if n_pairs == 0 or n_classes < 2 or n_pairs > GENUINE_LIMIT:
        return ()
    curve, counts = view.curve, view.curve.verification
    n_genuine = int(counts.genuine.sum())
    fmr, fnmr = counts.passing / counts.n_impostors, counts.refused / n_genuine
    similarities = curve.similarities
    if view.is_raw:
        # Minus half squared distances, as minus distances.
        similarities = -np.sqrt(np.maximum(-2.0 * similarities, 0.0))

    places = [(FMR, place) for place in np.flatnonzero(fmr <= _ALLOWED)[:1]]
    return tuple(
        Threshold(
            name=name,
            similarity=float(similarities[place]),
            fmr=float(fmr[place]),
            fnmr=float(fnmr[place]),
            n_genuine=n_genuine,
            n_impostors=int(counts.n_impostors),
        )
        for name, place in (*places, (EER, np.abs(fmr - fnmr).argmin()))
    )
