"""The singular values of the training embeddings: how many directions a method uses.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 8.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairground.errors import DataError
from fairground.records.arrays import array_names, read_arrays
from fairground.report.drawing import Draw, legend_below, log_axis, plain_axes
from fairground.report.figure import ReportFigure
from fairground.report.figure_inputs import FigureInputs, count
from fairground.report.figures.regularised import base_of, is_changed
from fairground.report.left_out import leave_out
from fairground.report.methods import Method
from fairground.report.palette import DASHES, Dash, Palette, dash_of, series_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 70
ARRAY = "spectrum/spectrum"
COLUMNS = ("method", "largest share", "10th", "last")


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """One method's shares of the singular values, descending, averaged over `n_runs`.

    `series` is its colour: a method and the same one with switched tuples or mixup share it, and `is_changed` dashes
    one.
    """

    label: str
    shares: np.ndarray
    n_runs: int
    series: int | None
    is_changed: bool


def spectra_of(inputs: FigureInputs, array: str = ARRAY) -> list[Spectrum]:
    """Return the spectra of all methods, from the files of their runs; colours go to pairs, as far as there are any."""
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    found: list[Spectrum] = []
    ranks: dict[str, int] = {}
    for method in inputs.methods:
        changed = is_changed(inputs.settings(method))
        base = base_of(inputs, method, plain) if changed else None
        curves = arrays_of(inputs, method, array)
        length = min((len(curve) for curve in curves), default=0)
        if length:
            shares = np.mean([curve[:length] for curve in curves], axis=0)
            rank = ranks.setdefault((base or method).key, len(ranks))
            found.append(
                Spectrum(
                    label=method.label,
                    shares=shares,
                    n_runs=len(curves),
                    series=series_of(rank),
                    is_changed=changed,
                )
            )
    return found


def arrays_of(inputs: FigureInputs, method: Method, name: str) -> list[np.ndarray]:
    """Return one array of the analyses of every run of a method that kept it."""
    found = []
    for run in method.done:
        folder = inputs.runs.folders.get(run.name)
        if folder is None or not folder.analyses.is_file():
            continue
        try:
            if name not in array_names(folder.analyses):  # the run kept other analyses
                continue
            array = read_arrays(folder.analyses, [name])[name]
        except DataError as error:
            leave_out(error)
            continue
        if array.ndim == 1 and array.dtype.kind == "f" and np.isfinite(array).all():
            found.append(array)
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs kept their spectra."""
    spectra = spectra_of(inputs)
    if not spectra:
        return None
    n_runs = sum(spectrum.n_runs for spectrum in spectra)
    return ReportFigure(
        name="spectra",
        title="Singular value spectra",
        sentence=(
            f"Each singular value of the training embeddings as a share of their sum, largest first, mean over seeds "
            f"({count(n_runs, 'run')}). A flat line uses all directions. As figure 8 of Roth et al., 2020."
        ),
        draw=lambda is_narrow: spectra_drawn(spectra, is_narrow),
        height=4.0,
        narrow_height=3.8,
        columns=COLUMNS,
        numbers=numbers_of(spectra),
    )


def numbers_of(spectra: list[Spectrum]) -> tuple[tuple[str, ...], ...]:
    """Return three points of each spectrum."""
    return tuple(
        (s.label, *(f"{100 * s.shares[at]:.3f} %" for at in (0, min(9, len(s.shares) - 1), -1))) for s in spectra
    )


def _dash(spectrum: Spectrum, spectra: list[Spectrum]) -> Dash:
    """Return the pattern of a line: dashed for the changed one of a pair; without pairs, that of its colour."""
    if any(other.is_changed for other in spectra):
        return DASHES[1] if spectrum.is_changed else DASHES[0]
    return dash_of(spectrum.series)


def spectra_drawn(spectra: list[Spectrum], is_narrow: bool) -> Draw:
    """Return the drawing of some spectra on a logarithmic axis."""

    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        for spectrum in spectra:
            axes.plot(
                np.arange(1, len(spectrum.shares) + 1),
                np.maximum(spectrum.shares, 1e-9),
                color=palette.colour(spectrum.series),
                linestyle=_dash(spectrum, spectra),
                linewidth=1.8,
            )
        log_axis(axes, "y")
        axes.set_xlabel("singular value, largest first", color=palette.soft)
        axes.set_ylabel("share of the sum", color=palette.soft)
        entries = [(spectrum.label, spectrum.series) for spectrum in spectra]
        dashes = [_dash(spectrum, spectra) for spectrum in spectra]
        legend_below(figure, entries, palette, is_narrow=is_narrow, dashes=dashes)

    return draw
