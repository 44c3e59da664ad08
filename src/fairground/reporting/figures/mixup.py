"""With and without manifold mixup: what each objective loses, and how far its embeddings are compressed.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, supplement F, figure 12.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from fairground.reporting.drawing import Draw, axes_in, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.figures.regularised import base_of, is_changed, is_mixed
from fairground.reporting.headings import heading, squeeze, unit
from fairground.reporting.methods import Method
from fairground.reporting.palette import Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 25
#: of the training embeddings: decay of all of them, and within classes
DECAYS: Mapping[str, str] = {"rho": "\u03c1", "class_rho": "\u03c1 within classes"}


@dataclass(frozen=True, kw_only=True)
class MixupPair:
    """One objective: its values without and with mixup, by the name of the quantity."""

    label: str
    without: Mapping[str, tuple[float, ...]]
    mixed: Mapping[str, tuple[float, ...]]


def mixup_pairs_of(inputs: FigureInputs) -> list[MixupPair]:
    """Return each method with mixup and the one without that is most like it."""
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    found = []
    for method in inputs.methods:
        base = base_of(inputs, method, plain) if is_mixed(inputs.settings(method)) else None
        if base is not None:
            pair = [_quantities(inputs, one) for one in (base, method)]
            found.append(MixupPair(label=base.label, without=pair[0], mixed=pair[1]))
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some method was run both ways."""
    pairs = mixup_pairs_of(inputs)
    quantities = [
        name
        for name in (inputs.habitual, *DECAYS)
        if pairs and all(pair.without.get(name) and pair.mixed.get(name) for pair in pairs)
    ]
    if not quantities:
        return None
    n_runs = sum(len(pair.without[quantities[0]]) + len(pair.mixed[quantities[0]]) for pair in pairs)
    return ReportFigure(
        name="mixup",
        title="With and without manifold mixup",
        sentence=(
            f"{', '.join(_title(name) for name in quantities)}, mean and standard deviation, of "
            f"{count(len(pairs), 'method')} without and with manifold mixup ({count(n_runs, 'run')}). As figure 12 of "
            "Roth et al., 2020; its spectra are below, where runs kept them."
        ),
        draw=lambda is_narrow: _drawn(pairs, quantities, is_narrow),
        height=1.5 + 0.6 * len(pairs),
        narrow_height=(1.4 + 0.6 * len(pairs)) * len(quantities),
        columns=("method", *(f"{_title(name)}, {how}" for name in quantities for how in ("without", "with"))),
        numbers=tuple(
            (
                pair.label,
                *(f"{fmean(side[name]):.2f}" for name in quantities for side in (pair.without, pair.mixed)),
            )
            for pair in pairs
        ),
    )


def _quantities(inputs: FigureInputs, method: Method) -> dict[str, tuple[float, ...]]:
    decays = {name: tuple(method.values(name, "train")) for name in DECAYS}
    return {inputs.habitual: tuple(inputs.scores(method, inputs.habitual)), **decays}


def _title(name: str) -> str:
    return DECAYS.get(name) or f"{heading(name)}{unit(name)}"


def _drawn(pairs: Sequence[MixupPair], quantities: Sequence[str], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        from matplotlib.patches import Patch

        columns = axes_in(figure, len(quantities), is_narrow=is_narrow, columns=3, share_y=not is_narrow)
        for axes, name in zip(columns, quantities, strict=True):
            _draw_one(axes, name, pairs, palette)
        keys = [Patch(color=palette.series[s], alpha=0.75, label=w) for s, w in ((0, "without"), (1, "with mixup"))]
        figure.legend(
            handles=keys, loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=palette.ink
        )

    return draw


def _draw_one(axes: "Axes", name: str, pairs: Sequence[MixupPair], palette: Palette) -> None:
    plain_axes(axes, palette)
    axes.grid(visible=False, axis="y")
    for line, pair in enumerate(pairs):
        for values, shift, series in ((pair.without[name], -0.19, 0), (pair.mixed[name], 0.19, 1)):
            axes.barh(line + shift, fmean(values), 0.34, color=palette.series[series], alpha=0.75, linewidth=0)
            if len(values) > 1:
                axes.errorbar(fmean(values), line + shift, xerr=stdev(values), color=palette.ink, capsize=3)
    axes.set_yticks(range(len(pairs)), [squeeze(pair.label, 24) for pair in pairs], color=palette.ink)
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_xlabel(_title(name), color=palette.soft, fontsize=9)
