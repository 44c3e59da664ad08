"""The structure of the training embeddings: singular values, distances, and how retrieval of unseen classes follows.

Methods that were run with and without switched tuples, or mixup, have a panel of spectra each, as in the paper; without
such pairs all methods share one panel.

Formula
    structure: Pearson's r over runs between a measure of the training split and the test score, for pi_intra,
    pi_inter, pi_ratio and rho

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 5 (structure), 8 (spectra) and, in supplement B,
    10 (spectra within classes, averaged over classes).
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, figure 2 (densities).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairground.reporting.drawing import DASHED, SOLID, Key, Line, Panel, Points, Series, panels, series_of
from fairground.reporting.figure import FigureInputs, ReportFigure, arrays_in, axis_of, count, factor_of
from fairground.reporting.figures.regularisation import MIXED, SWITCHED, change_of, with_bases
from fairground.reporting.methods import Method

PAGE_ORDER = {"structure": 50, "spectra": 70, "class_spectra": 72, "densities": 75}
#: a correlation of fewer runs is mostly chance
LEAST_RUNS = 4
#: the measures of the paper in its notation
MEASURES = {"pi_intra": "π intra", "pi_inter": "π inter", "pi_ratio": "π intra / π inter", "rho": "\u03c1"}
#: what single precision leaves of the largest value where a direction is not used
_ROUNDING = 1e-6
_MOST_DENSITIES = 4


def structure(inputs: FigureInputs) -> ReportFigure | None:
    metric, split = inputs.habitual, inputs.table.split
    axis = axis_of(metric)
    drawn, rows, present = [], [], set()
    for measure, title in MEASURES.items():
        known = [
            (method.label, measured, factor_of(metric) * scored)
            for method in inputs.methods
            if (measure, "train") in method.scored
            for run in method.done
            if (measured := run.score(measure, "train")) is not None
            and (scored := run.score(metric, split)) is not None
        ]
        if len(known) < LEAST_RUNS:
            continue
        items: list[Points | Line] = []
        for label in dict.fromkeys(label for label, *_ in known):
            x, y = zip(*[point for name, *point in known if name == label], strict=True)
            items.append(Points(x=x, y=y, series=inputs.series[label]))
            present.add(label)
        _, x, y = zip(*known, strict=True)
        r = "none"
        if len(set(x)) > 1 and len(set(y)) > 1:
            r = f"{np.corrcoef(x, y)[0, 1]:+.2f}"
            slope, height = np.polyfit(x, y, 1)
            ends = min(x), max(x)
            items.append(Line(x=ends, y=[slope * end + height for end in ends], series="soft", dash=DASHED, width=1.2))
        drawn.append(Panel(items=items, title=f"r = {r}", x=title, y=axis))
        rows.append((title, r, len(known)))
    if not rows:
        return None
    return ReportFigure(
        title="Retrieval against the structure of the training embeddings",
        sentence=f"{axis} on {split} classes against measures of the training embeddings, one point per run, "
        f"{count(max(n for *_, n in rows), 'run')}; correlations: "
        f"{', '.join(f'{measure} {r}' for measure, r, _ in rows)}. As in figure 5 of Roth et al., 2020.",
        draw=panels(
            drawn, keys=[Key(text=label, series=series) for label, series in inputs.series.items() if label in present]
        ),
        height=2.9 * -(-len(drawn) // 2) + 0.5,
        columns=("measure", "r", "runs"),
        rows=rows,
    )


def arrays_of(inputs: FigureInputs, method: Method, name: str) -> list[np.ndarray]:
    """Return one array of the analyses of every run of a method that kept it."""
    folders = [inputs.runs.folders[run.name] for run in method.done if run.name in inputs.runs.folders]
    found = [one for folder in folders for one in arrays_in(folder.analyses, [name]) or ()]
    return [one for one in found if one.ndim == 1 and len(one) and one.dtype.kind == "f" and np.isfinite(one).all()]


@dataclass(frozen=True, kw_only=True)
class Spectrum:
    """One method's shares of the singular values, descending, averaged over `n_runs`.

    `base` is the label of the method that it changes by `change`; both are empty where it is plain.
    """

    label: str
    shares: np.ndarray
    n_runs: int
    base: str = ""
    change: str = ""

    @property
    def used(self) -> list[float]:
        return [share for share in self.shares.tolist() if share > _ROUNDING * self.shares[0]]

    def line(self, series: Series) -> Line:
        places = range(1, len(self.used) + 1)
        return Line(x=places, y=self.used, series=series, width=1 if series is None else 1.8)


def spectra_of(inputs: FigureInputs, array: str) -> list[Spectrum]:
    bases = {method.label: base for method, base in with_bases(inputs, SWITCHED, MIXED)}
    found = []
    for method in inputs.methods:
        base = bases.get(method.label)
        change = {} if base is None else {"base": base.label, "change": change_of(method.settings)}
        curves = arrays_of(inputs, method, array)
        length = min((len(curve) for curve in curves), default=0)
        if length:
            shares = np.mean([curve[:length] for curve in curves], axis=0)
            found.append(Spectrum(label=method.label, shares=shares, n_runs=len(curves), **change))
    return found


def pairs_of_spectra(spectra: Sequence[Spectrum]) -> dict[str, tuple[Spectrum, Spectrum]]:
    """Return each method with its changed version, by name; empty where one has several, as in a sweep."""
    plain = {spectrum.label: spectrum for spectrum in spectra if not spectrum.base}
    changed = [spectrum for spectrum in spectra if spectrum.base in plain]
    pairs = {spectrum.base: (plain[spectrum.base], spectrum) for spectrum in changed}
    return pairs if len(pairs) == len(changed) else {}


def spectra(inputs: FigureInputs) -> ReportFigure | None:
    return _spectra(
        spectra_of(inputs, "spectrum/spectrum"),
        title="Singular value spectra",
        what="Each singular value of the training embeddings as a share of their sum, largest first, mean over seeds",
        meaning="A flat line uses all directions. As in figure 8 of Roth et al., 2020.",
    )


def class_spectra(inputs: FigureInputs) -> ReportFigure | None:
    return _spectra(
        spectra_of(inputs, "class_spectra/class_spectrum"),
        title="Singular value spectra within classes",
        what=(
            "Each singular value of the training embeddings of a class as a share of their sum, largest first, mean "
            "over classes and seeds"
        ),
        meaning="A steep line: classes use few directions. As in figure 10 of Roth et al., 2020.",
    )


def _spectra(found: Sequence[Spectrum], *, title: str, what: str, meaning: str) -> ReportFigure | None:
    if not found:
        return None
    pairs = pairs_of_spectra(found)
    axis = "singular value, largest first"
    if pairs:
        # Blue without and red with, as in the paper.
        colours = {"without": 0, "with": 6}
        drawn = []
        for label, pair in pairs.items():
            lines = [one.line(series) for one, series in zip(pair, colours.values(), strict=True)]
            drawn.append(Panel(items=lines, title=label, x=axis, log="y"))
        keys = [Key(text=text, series=series, kind="line") for text, series in colours.items()]
        draw = panels(drawn, columns=3, keys=keys, y="share of the sum")
    else:
        ranked = [(spectrum, series_of(rank)) for rank, spectrum in enumerate(found)]
        lines = [spectrum.line(series) for spectrum, series in reversed(ranked)]  # the best on top
        keys = [Key(text=spectrum.label, series=series, kind="line") for spectrum, series in ranked]
        draw = panels([Panel(items=lines, x=axis, y="share of the sum", log="y")], keys=keys)
    runs = count(sum(spectrum.n_runs for spectrum in found), "run")
    return ReportFigure(
        title=title,
        sentence=f"{what} ({runs}).{_what_is_drawn(found, pairs)} {meaning}",
        draw=draw,
        height=0.6 + 2.4 * -(-len(pairs) // 3) if pairs else 4.0,
        columns=("method", "largest share", "10th", "last"),
        rows=[
            (one.label, *(f"{100 * one.shares[at]:.3f} %" for at in (0, min(9, len(one.shares) - 1), -1)))
            for one in found
        ],
    )


def _what_is_drawn(found: Sequence[Spectrum], pairs: Mapping[str, tuple[Spectrum, Spectrum]]) -> str:
    """Return which methods are drawn in which colours, and where lines end."""
    said = ""
    if pairs:
        others = len(found) - 2 * len(pairs)
        change = " or ".join(dict.fromkeys(changed.change for _, changed in pairs.values()))
        left = f"; {count(others, 'method')} without a pair {'is' if others == 1 else 'are'} in the numbers only"
        said = f" {count(len(pairs), 'method')} without (blue) and with (red) {change}{left if others else ''}."
    elif grey := sum(series_of(rank) is None for rank in range(len(found))):
        said = f" {count(grey, 'method')} beyond the palette: grey."
    has_rest = any(len(one.used) < len(one.shares) for one in found)
    return said + (" Lines end where the rest is rounding of zero." if has_rest else "")


def densities(inputs: FigureInputs) -> ReportFigure | None:
    keys = [Key(text="same class", series=2, kind="bar"), Key(text="different classes", series=1, kind="bar")]
    drawn: list[Panel] = []
    end = 0.0
    for method in inputs.methods:
        names = ("edges", "positive_density", "negative_density")
        kept = [arrays_of(inputs, method, f"densities/{name}") for name in names]
        if not all(kept) or len(drawn) == _MOST_DENSITIES:
            continue
        edges, *both = (arrays[0] for arrays in kept)
        if any(len(edges) != len(one) + 1 for one in both):
            continue
        distances = (edges[1:] + edges[:-1]) / 2
        # Beyond this distance there is next to nothing.
        top = np.maximum(*both)
        end = max(end, 1.05 * distances[top > 0.003 * top.max()].max(initial=0.0))
        items = [
            Line(x=distances.tolist(), y=y.tolist(), series=key.series, dash=SOLID, width=1.5, is_filled=True)
            for y, key in zip(both, keys, strict=True)
        ]
        drawn.append(Panel(items=items, title=method.label, x="distance"))
    if not drawn:
        return None
    return ReportFigure(
        title="Distances within and between classes",
        sentence="Densities of the distances between training images of the same class and of different classes, for "
        f"{count(len(drawn), 'method')}, one run each. Less overlap means better separated classes.",
        draw=panels([replace(panel, x_range=(0, end)) for panel in drawn], keys=keys),
        height=2.5 * -(-len(drawn) // 2) + 0.4,
    )
