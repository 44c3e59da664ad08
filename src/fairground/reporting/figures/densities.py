"""Distances within and between classes in the training embeddings, one drawing per method.

Paper
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, figure 2.
"""

import numpy as np

from fairground.reporting.drawing import SOLID, Key, Line, Panel, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.figures.spectra import arrays_of

PAGE_ORDER = 75
_MOST = 4
_SAME, _OTHER = 2, 1


def densities_of(inputs: FigureInputs) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return (distances, positive, negative) of the first run of the leading methods that kept them."""
    found: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for method in inputs.methods:
        kept = [
            arrays_of(inputs, method, f"densities/{name}") for name in ("edges", "positive_density", "negative_density")
        ]
        if not all(kept) or len(found) == _MOST:
            continue
        edges, positive, negative = (arrays[0] for arrays in kept)
        if len(edges) == len(positive) + 1 == len(negative) + 1:
            found[method.label] = (edges[1:] + edges[:-1]) / 2, positive, negative
    return found


def _end(distances: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> float:
    """Return the distance beyond which there is next to nothing."""
    both = np.maximum(positive, negative)
    seen = distances[both > 0.003 * both.max()]
    return float(1.05 * seen.max()) if len(seen) else float(distances[-1])


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs kept their densities."""
    found = densities_of(inputs)
    if not found:
        return None
    end = max(_end(*one) for one in found.values())
    drawn = [
        Panel(
            items=[
                Line(x=distances.tolist(), y=y.tolist(), series=series, dash=SOLID, width=1.5, is_filled=True)
                for y, series in ((positive, _SAME), (negative, _OTHER))
            ],
            title=label,
            x="distance",
            x_range=(0, end),
            has_y_ticks=False,
        )
        for label, (distances, positive, negative) in found.items()
    ]
    keys = [Key(text="same class", series=_SAME, kind="bar"), Key(text="different classes", series=_OTHER, kind="bar")]
    return ReportFigure(
        name="densities",
        title="Distances within and between classes",
        sentence=(
            "Densities of the distances between training images of the same class and of different classes, for "
            f"{count(len(found), 'method')}, one run each. Less overlap means better separated classes."
        ),
        draw=panels(drawn, keys=keys),
        height=2.5 * -(-len(found) // 2) + 0.4,
    )
