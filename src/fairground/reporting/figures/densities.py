"""Distances within and between classes in the training embeddings, one drawing per method.

Paper
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, figure 2.
"""

from dataclasses import dataclass

import numpy as np

from fairground.reporting.drawing import SOLID, Key, Line, Panel, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.figures.spectra import arrays_of

PAGE_ORDER = 75
_MOST = 4
_SAME, _OTHER = 2, 1


@dataclass(frozen=True, kw_only=True)
class Densities:
    """One run's densities of the distances of positive and negative pairs."""

    label: str
    middles: np.ndarray
    positive: np.ndarray
    negative: np.ndarray

    @property
    def end(self) -> float:
        """The distance beyond which there is next to nothing."""
        both = np.maximum(self.positive, self.negative)
        seen = self.middles[both > 0.003 * both.max()]
        return float(1.05 * seen.max()) if len(seen) else float(self.middles[-1])


def densities_of(inputs: FigureInputs) -> list[Densities]:
    """Return the densities of the first run of the leading methods that kept them."""
    found: list[Densities] = []
    for method in inputs.methods:
        kept = [
            arrays_of(inputs, method, f"densities/{name}") for name in ("edges", "positive_density", "negative_density")
        ]
        if not all(kept) or len(found) == _MOST:
            continue
        edges, positive, negative = (arrays[0] for arrays in kept)
        if len(edges) == len(positive) + 1 == len(negative) + 1:
            middles = (edges[1:] + edges[:-1]) / 2
            found.append(Densities(label=method.label, middles=middles, positive=positive, negative=negative))
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs kept their densities."""
    found = densities_of(inputs)
    if not found:
        return None
    end = max(one.end for one in found)
    drawn = [
        Panel(
            items=[
                Line(x=one.middles.tolist(), y=y.tolist(), series=series, dash=SOLID, width=1.5, is_filled=True)
                for y, series in ((one.positive, _SAME), (one.negative, _OTHER))
            ],
            title=one.label,
            x="distance",
            x_range=(0, end),
            has_y_ticks=False,
        )
        for one in found
    ]
    return ReportFigure(
        name="densities",
        title="Distances within and between classes",
        sentence=(
            "Densities of the distances between training images of the same class and of different classes, for "
            f"{count(len(found), 'method')}, one run each. Less overlap means better separated classes."
        ),
        draw=panels(
            drawn,
            keys=[
                Key(text="same class", series=_SAME, kind="bar"),
                Key(text="different classes", series=_OTHER, kind="bar"),
            ],
        ),
        height=2.5 * -(-len(found) // 2) + 0.4,
    )
