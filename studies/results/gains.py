"""What each loss gains over the untrained network, all data sets on one scale: the first picture of the first page.

Formula
    share of a loss on a data set = (its test MAP@R - untrained) / (the best searched loss' - untrained)
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from studies.results.page import RANKED, SHORT, Picture, listed
from studies.results.records import ExportedRun
from studies.results.select import Table, by_data, finals_by_data, means, untrained, values

from fairground.reporting.drawing import Draw, Palette, colour_of, plain_axes, sign_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRIC = "map@r"
RAW = "raw features, no head"


def gains_picture(
    field: Sequence[ExportedRun], at_defaults: Mapping[str, Table], whole: Mapping[str, Mapping[str, float]]
) -> Picture:
    """Return the picture of C1's searched losses and of raw features, joined with the defaults of C25."""
    found = {data: means(values(some, METRIC)) for data, some in finals_by_data(field, RANKED).items()}
    starts = {data: untrained(by_data(field, RANKED)[data], METRIC) or 0.0 for data in found}
    best = {data: max(one.values()) - starts[data] for data, one in found.items()}

    def scaled(data: str, scores: Mapping[str, float]) -> dict[str, float]:
        return {loss: 100 * (score - starts[data]) / best[data] for loss, score in scores.items()}

    searched = {data: scaled(data, one) for data, one in found.items()}
    for data in searched.keys() & whole.keys():
        searched[data] |= scaled(data, {RAW: whole[data][METRIC]})
    defaults = {data: scaled(data, means(at_defaults[data])) for data in searched if data in at_defaults}
    joined = listed([SHORT[data] for data in defaults])
    return Picture(
        name="c01_gains",
        caption=(
            "What each loss gains in test MAP@R over the untrained network, in per cent of what the best loss gains on "
            "that data, after equal short searches (filled)"
            + (f" and at its defaults (hollow, {joined}), joined by a line." if joined else ".")
        ),
        draw=_draw(searched, defaults),
        size=(6.4, 6.4),
    )


def _draw(searched: Mapping[str, Mapping[str, float]], defaults: Mapping[str, Mapping[str, float]]) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.subplots()
        plain_axes(axes, palette)
        losses = sorted({loss for one in searched.values() for loss in one})
        average = {loss: np.mean([one[loss] for one in searched.values() if loss in one]) for loss in losses}
        place_of = {loss: place for place, loss in enumerate(sorted(losses, key=lambda loss: average[loss]))}
        for number, (data, one) in enumerate(searched.items()):
            look = {"color": colour_of(number, palette), "marker": sign_of(number), "linestyle": "none"}
            shift = 0.15 * (number - (len(searched) - 1) / 2)
            for loss, share in defaults.get(data, {}).items():
                if loss in one:
                    place = place_of[loss] + shift
                    axes.plot([share, one[loss]], [place, place], color=look["color"], linewidth=1)
                    axes.plot([share], [place], **look, markersize=5, fillstyle="none")
            places = [place_of[loss] + shift for loss in one]
            axes.plot(list(one.values()), places, **look, markersize=5, label=f" {SHORT[data]}")
        axes.axvline(0, color=palette["ink"], linewidth=1, linestyle=(0, (4, 2)))
        axes.set_yticks(list(place_of.values()), list(place_of), fontsize=8)
        axes.set_xlabel("gain over the untrained network, % of the best loss' gain", fontsize=9, color=palette["soft"])
        axes.legend(frameon=False, fontsize=8, labelcolor=palette["ink"], loc="upper left", bbox_to_anchor=(0.12, 1))

    return draw
