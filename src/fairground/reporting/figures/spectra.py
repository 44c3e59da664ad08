"""The singular values of the training embeddings: how many directions a method uses.

Methods that were run with and without switched tuples, or mixup, stand in panels of their own, as the paper draws them;
without such pairs all methods share one panel.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairground.errors import DataError
from fairground.records.arrays import array_names, read_arrays
from fairground.reporting.drawing import Draw, axes_in, legend_below, log_axis, plain_axes
from fairground.reporting.figure import ReportFigure
from fairground.reporting.figure_inputs import FigureInputs, count
from fairground.reporting.figures.regularised import base_of, is_changed, is_mixed
from fairground.reporting.headings import squeeze
from fairground.reporting.left_out import leave_out
from fairground.reporting.methods import Method
from fairground.reporting.palette import DASHES, Palette, dash_of, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE_ORDER = 70
ARRAY = "spectrum/spectrum"
COLUMNS = ("method", "largest share", "10th", "last")
#: single precision leaves this much of the largest value where a direction is not used at all
_ROUNDING = 1e-6
#: blue without and red with, as the paper has them
_WITHOUT, _WITH = 0, 6


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """One method's shares of the singular values, descending, averaged over `n_runs`.

    `base` is the label of the method that it changes by `change`, its own where it changes none.
    """

    label: str
    shares: np.ndarray
    n_runs: int
    base: str
    change: str = ""

    @property
    def is_changed(self) -> bool:
        """Tell whether it is another method of these with switched tuples or mixup."""
        return self.base != self.label

    @property
    def used(self) -> np.ndarray:
        """The shares above the rounding of zero."""
        n_used = int((self.shares > _ROUNDING * self.shares[0]).sum())
        used: np.ndarray = self.shares[:n_used]
        return used


def spectra_of(inputs: FigureInputs, array: str = ARRAY) -> list[Spectrum]:
    """Return the spectra of all methods, from the files of their runs."""
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    found: list[Spectrum] = []
    for method in inputs.methods:
        settings = inputs.settings(method)
        base = base_of(inputs, method, plain) if is_changed(settings) else None
        curves = arrays_of(inputs, method, array)
        length = min((len(curve) for curve in curves), default=0)
        if length:
            found.append(
                Spectrum(
                    label=method.label,
                    shares=np.mean([curve[:length] for curve in curves], axis=0),
                    n_runs=len(curves),
                    base=method.label if base is None else base.label,
                    change="" if base is None else "manifold mixup" if is_mixed(settings) else "switched tuples",
                )
            )
    return found


def pairs_of_spectra(spectra: Sequence[Spectrum]) -> dict[str, tuple[Spectrum, Spectrum]]:
    """Return each method with the one that changes it, by name; nothing where one has several, as in a sweep."""
    plain = {spectrum.label: spectrum for spectrum in spectra if not spectrum.is_changed}
    changed = [spectrum for spectrum in spectra if spectrum.is_changed and spectrum.base in plain]
    pairs = {spectrum.base: (plain[spectrum.base], spectrum) for spectrum in changed}
    return pairs if len(pairs) == len(changed) else {}


def arrays_of(inputs: FigureInputs, method: Method, name: str) -> list[np.ndarray]:
    """Return one array of the analyses of every run of a method that kept it."""
    found = []
    files = inputs.runs.analyses
    for path in (files[run.name] for run in (method.done if files else ()) if run.name in files):
        try:
            if name not in array_names(path):  # the run kept other analyses
                continue
            array = read_arrays(path, [name])[name]
        except DataError as error:
            leave_out(error)
            continue
        if array.ndim == 1 and array.dtype.kind == "f" and np.isfinite(array).all():
            found.append(array)
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs kept their spectra."""
    return spectra_figure(
        spectra_of(inputs),
        name="spectra",
        title="Singular value spectra",
        what="Each singular value of the training embeddings as a share of their sum, largest first, mean over seeds",
        meaning="A flat line uses all directions. As figure 8 of Roth et al., 2020.",
    )


def spectra_figure(
    spectra: Sequence[Spectrum], *, name: str, title: str, what: str, meaning: str
) -> ReportFigure | None:
    """Return the figure of some spectra; None where there are none."""
    if not spectra:
        return None
    pairs = pairs_of_spectra(spectra)
    rows = -(-len(pairs) // 3)
    runs = count(sum(spectrum.n_runs for spectrum in spectra), "run")
    return ReportFigure(
        name=name,
        title=title,
        sentence=f"{what} ({runs}).{_drawn_words(spectra, pairs)} {meaning}",
        draw=lambda is_narrow: _pairs_drawn(pairs, is_narrow) if pairs else _drawn(spectra, is_narrow),
        height=0.6 + 2.4 * rows if pairs else 4.0,
        narrow_height=0.6 + 1.9 * len(pairs) if pairs else 3.8,
        columns=COLUMNS,
        numbers=tuple(
            (s.label, *(f"{100 * s.shares[at]:.3f} %" for at in (0, min(9, len(s.shares) - 1), -1))) for s in spectra
        ),
    )


def _drawn_words(spectra: Sequence[Spectrum], pairs: Mapping[str, tuple[Spectrum, Spectrum]]) -> str:
    """Say which methods are drawn and in which colours, and where lines end."""
    said = []
    if pairs:
        others = len(spectra) - 2 * len(pairs)
        change = " or ".join(dict.fromkeys(changed.change for _, changed in pairs.values()))
        left = f"; {count(others, 'method')} without a pair {'is' if others == 1 else 'are'} among the numbers alone"
        said.append(f"{count(len(pairs), 'method')} without (blue) and with (red) {change}{left if others else ''}.")
    elif grey := sum(series_of(rank) is None for rank in range(len(spectra))):
        said.append(f"Grey are the other {count(grey, 'method')}.")
    if any(len(spectrum.used) < len(spectrum.shares) for spectrum in spectra):
        said.append("Lines end where the rest is rounding of zero.")
    return "".join(f" {word}" for word in said)


def _draw_line(axes: "Axes", spectrum: Spectrum, palette: Palette, *, series: int | None, is_dashed: bool) -> None:
    dash = DASHES[1] if is_dashed else DASHES[0]
    places = np.arange(1, len(spectrum.used) + 1)
    axes.plot(places, spectrum.used, color=palette.colour(series), linestyle=dash, linewidth=1.8)


def _pairs_drawn(pairs: Mapping[str, tuple[Spectrum, Spectrum]], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        for axes, (label, (without, changed)) in zip(
            axes_in(figure, len(pairs), is_narrow=is_narrow, columns=3), pairs.items(), strict=True
        ):
            plain_axes(axes, palette)
            _draw_line(axes, without, palette, series=_WITHOUT, is_dashed=False)
            _draw_line(axes, changed, palette, series=_WITH, is_dashed=True)
            log_axis(axes, "y")
            axes.set_title(squeeze(label, 34), fontsize=10, color=palette.ink, loc="left")
            axes.set_xlabel("singular value, largest first", color=palette.soft, fontsize=9)
        figure.supylabel("share of the sum", color=palette.soft, fontsize=9.5)
        entries: list[tuple[str, int | None]] = [("without", _WITHOUT), ("with", _WITH)]
        legend_below(figure, entries, palette, is_narrow=is_narrow, dashes=DASHES[:2])

    return draw


def _drawn(spectra: Sequence[Spectrum], is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        ranked = [(spectrum, series_of(rank)) for rank, spectrum in enumerate(spectra)]
        for spectrum, series in reversed(ranked):  # the best on top
            places = np.arange(1, len(spectrum.used) + 1)
            axes.plot(
                places,
                spectrum.used,
                color=palette.colour(series),
                linestyle=dash_of(series),
                linewidth=1 if series is None else 1.8,
            )
        log_axis(axes, "y")
        axes.set_xlabel("singular value, largest first", color=palette.soft)
        axes.set_ylabel("share of the sum", color=palette.soft)
        legend_below(figure, [(spectrum.label, series) for spectrum, series in ranked], palette, is_narrow=is_narrow)

    return draw
