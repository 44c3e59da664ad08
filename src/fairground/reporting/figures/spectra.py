"""The singular values of the training embeddings: how many directions a method uses.

Methods that were run with and without switched tuples, or mixup, have their own panels, as in the paper; without such
pairs all methods share one panel.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figure 8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fairground.errors import DataError
from fairground.records.arrays import array_names, read_arrays
from fairground.reporting.drawing import DASHES, SOLID, Dash, Key, Line, Panel, Series, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.figures.regularised import is_mixed, with_bases
from fairground.reporting.methods import Method
from fairground.reporting.run_set import leave_out

PAGE_ORDER = 70
ARRAY = "spectrum/spectrum"
#: what single precision leaves of the largest value where a direction is not used
_ROUNDING = 1e-6
#: blue without and red with, as in the paper
_WITHOUT, _WITH = 0, 6


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """One method's shares of the singular values, descending, averaged over `n_runs`.

    `base` is the label of the method that it changes by `change`; its own label where it is plain.
    """

    label: str
    shares: np.ndarray
    n_runs: int
    base: str
    change: str = ""

    @property
    def is_changed(self) -> bool:
        return self.base != self.label

    @property
    def used(self) -> np.ndarray:
        """The shares above the rounding of zero."""
        n_used = int((self.shares > _ROUNDING * self.shares[0]).sum())
        used: np.ndarray = self.shares[:n_used]
        return used

    def line(self, series: Series, dash: Dash | None = None) -> Line:
        width = 1 if series is None else 1.8
        places = list(range(1, len(self.used) + 1))
        return Line(x=places, y=self.used.tolist(), series=series, dash=dash, width=width)


def spectra_of(inputs: FigureInputs, array: str = ARRAY) -> list[Spectrum]:
    """Return the spectra of all methods, from the files of their runs."""
    bases = {method.label: base for method, base in with_bases(inputs)}
    found: list[Spectrum] = []
    for method in inputs.methods:
        base = bases.get(method.label)
        curves = arrays_of(inputs, method, array)
        length = min((len(curve) for curve in curves), default=0)
        if length:
            change = "manifold mixup" if is_mixed(inputs.settings(method)) else "switched tuples"
            found.append(
                Spectrum(
                    label=method.label,
                    shares=np.mean([curve[:length] for curve in curves], axis=0),
                    n_runs=len(curves),
                    base=(base or method).label,
                    change="" if base is None else change,
                )
            )
    return found


def pairs_of_spectra(spectra: Sequence[Spectrum]) -> dict[str, tuple[Spectrum, Spectrum]]:
    """Return each method with its changed version, by name; empty where one has several, as in a sweep."""
    plain = {spectrum.label: spectrum for spectrum in spectra if not spectrum.is_changed}
    changed = [spectrum for spectrum in spectra if spectrum.is_changed and spectrum.base in plain]
    pairs = {spectrum.base: (plain[spectrum.base], spectrum) for spectrum in changed}
    return pairs if len(pairs) == len(changed) else {}


def arrays_of(inputs: FigureInputs, method: Method, name: str) -> list[np.ndarray]:
    """Return one array of the analyses of every run of a method that kept it."""
    files = inputs.runs.analyses
    found = []
    for path in (files[run.name] for run in (method.done if files else ()) if run.name in files):
        try:
            array = read_arrays(path, [name])[name] if name in array_names(path) else np.zeros(0)
        except DataError as error:
            leave_out(error)
            continue
        if array.ndim == 1 and len(array) and array.dtype.kind == "f" and np.isfinite(array).all():
            found.append(array)
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when runs kept their spectra."""
    return spectra_figure(
        spectra_of(inputs),
        name="spectra",
        title="Singular value spectra",
        what="Each singular value of the training embeddings as a share of their sum, largest first, mean over seeds",
        meaning="A flat line uses all directions. As in figure 8 of Roth et al., 2020.",
    )


def spectra_figure(
    spectra: Sequence[Spectrum], *, name: str, title: str, what: str, meaning: str
) -> ReportFigure | None:
    """Return the figure of some spectra; None where there are none."""
    if not spectra:
        return None
    pairs = pairs_of_spectra(spectra)
    axis = "singular value, largest first"
    if pairs:
        drawn = [
            Panel(items=[plain.line(_WITHOUT, SOLID), changed.line(_WITH, DASHES[1])], title=label, x=axis, log="y")
            for label, (plain, changed) in pairs.items()
        ]
        keys = [
            Key(text="without", series=_WITHOUT, kind="line", dash=SOLID),
            Key(text="with", series=_WITH, kind="line", dash=DASHES[1]),
        ]
        draw = panels(drawn, columns=3, keys=keys, y="share of the sum")
    else:
        ranked = [(spectrum, series_of(rank)) for rank, spectrum in enumerate(spectra)]
        lines = [spectrum.line(series) for spectrum, series in reversed(ranked)]  # the best on top
        keys = [Key(text=spectrum.label, series=series, kind="line") for spectrum, series in ranked]
        draw = panels([Panel(items=lines, x=axis, y="share of the sum", log="y")], keys=keys)
    runs = count(sum(spectrum.n_runs for spectrum in spectra), "run")
    return ReportFigure(
        name=name,
        title=title,
        sentence=f"{what} ({runs}).{_what_is_drawn(spectra, pairs)} {meaning}",
        draw=draw,
        height=0.6 + 2.4 * -(-len(pairs) // 3) if pairs else 4.0,
        columns=("method", "largest share", "10th", "last"),
        numbers=tuple(
            (s.label, *(f"{100 * s.shares[at]:.3f} %" for at in (0, min(9, len(s.shares) - 1), -1))) for s in spectra
        ),
    )


def _what_is_drawn(spectra: Sequence[Spectrum], pairs: Mapping[str, tuple[Spectrum, Spectrum]]) -> str:
    """Return which methods are drawn in which colours, and where lines end."""
    sentences = []
    if pairs:
        others = len(spectra) - 2 * len(pairs)
        change = " or ".join(dict.fromkeys(changed.change for _, changed in pairs.values()))
        left = f"; {count(others, 'method')} without a pair {'is' if others == 1 else 'are'} in the numbers only"
        sentences.append(
            f"{count(len(pairs), 'method')} without (blue) and with (red) {change}{left if others else ''}."
        )
    elif grey := sum(series_of(rank) is None for rank in range(len(spectra))):
        sentences.append(f"{count(grey, 'method')} beyond the palette: grey.")
    if any(len(spectrum.used) < len(spectrum.shares) for spectrum in spectra):
        sentences.append("Lines end where the rest is rounding of zero.")
    return "".join(f" {sentence}" for sentence in sentences)
