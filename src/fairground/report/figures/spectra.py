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
from fairground.report.left_out import leave_out
from fairground.report.methods import Method
from fairground.report.palette import N_SERIES, Palette, dash_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAGE_ORDER = 70
ARRAY = "spectrum/spectrum"


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """One method's shares of the singular values, descending, averaged over `n_runs`."""

    label: str
    shares: np.ndarray
    n_runs: int


def spectra_of(inputs: FigureInputs) -> list[Spectrum]:
    """Return the spectra of the methods that have a colour, from the files of their runs."""
    found = []
    for method in inputs.methods[:N_SERIES]:
        curves = arrays_of(inputs, method, ARRAY)
        length = min((len(curve) for curve in curves), default=0)
        if length:
            shares = np.mean([curve[:length] for curve in curves], axis=0)
            found.append(Spectrum(label=method.label, shares=shares, n_runs=len(curves)))
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
        draw=lambda is_narrow: _drawn(spectra, inputs, is_narrow),
        height=4.0,
        narrow_height=3.8,
        columns=("method", "largest share", "10th", "last"),
        numbers=tuple(
            (s.label, *(f"{100 * s.shares[at]:.3f} %" for at in (0, min(9, len(s.shares) - 1), -1))) for s in spectra
        ),
    )


def _drawn(spectra: list[Spectrum], inputs: FigureInputs, is_narrow: bool) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.add_subplot()
        plain_axes(axes, palette)
        for spectrum in spectra:
            series = inputs.series[spectrum.label]
            axes.plot(
                np.arange(1, len(spectrum.shares) + 1),
                np.maximum(spectrum.shares, 1e-9),
                color=palette.colour(series),
                linestyle=dash_of(series),
                linewidth=1.8,
            )
        log_axis(axes, "y")
        axes.set_xlabel("singular value, largest first", color=palette.soft)
        axes.set_ylabel("share of the sum", color=palette.soft)
        entries = [(spectrum.label, inputs.series[spectrum.label]) for spectrum in spectra]
        legend_below(figure, entries, palette, is_narrow=is_narrow)

    return draw
