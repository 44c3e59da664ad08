"""How far apart images of one class and of two lie in the training embeddings, one drawing a method.

Paper
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, figure 2.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.figures.spectra import arrays_of
from fairground.reporting.headings import squeeze
from fairground.reporting.palette import Palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 75
_MOST = 4


@dataclass(frozen=True, kw_only=True)
class Densities:
    """One run's densities of distances, of pairs of one class and of two."""

    label: str
    middles: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


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
    return ReportFigure(
        name="densities",
        title="Distances within and between classes",
        sentence=(
            f"Densities of the distances between training images of one class and of two classes, for "
            f"{count(len(found), 'method')}, one run each. The less they overlap, the better the classes are apart."
        ),
        draw=lambda is_narrow: _drawn(found, is_narrow),
        height=2.5 * -(-len(found) // 2) + 0.4,
        narrow_height=2.1 * len(found) + 0.4,
    )


def _end(one: Densities) -> float:
    """Return the distance beyond which there is next to nothing."""
    both = np.maximum(one.positive, one.negative)
    seen = one.middles[both > 0.003 * both.max()]
    return float(1.05 * seen.max()) if len(seen) else float(one.middles[-1])


def _drawn(found: list[Densities], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        from matplotlib.patches import Patch

        colours = ((2, "one class"), (1, "two classes"))
        reach = max(_end(one) for one in found)
        for axes, one in zip(axes_in(figure, len(found), is_narrow=is_narrow), found, strict=True):
            plain_axes(axes, palette)
            for values, (series, _) in zip((one.positive, one.negative), colours, strict=True):
                axes.fill_between(one.middles, values, color=palette.series[series], alpha=0.3, linewidth=0)
                axes.plot(one.middles, values, color=palette.series[series], linewidth=1.5)
            axes.set_title(squeeze(one.label, 44), fontsize=10, color=palette.ink, loc="left")
            axes.set_xlabel("distance", color=palette.soft, fontsize=9)
            axes.set_yticks([])
            axes.set_xlim(0, reach)
        keys = [Patch(color=palette.series[series], alpha=0.5, label=word) for series, word in colours]
        figure.legend(
            handles=keys, loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=palette.ink
        )

    return draw
