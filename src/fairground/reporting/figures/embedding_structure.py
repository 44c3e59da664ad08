"""Singular values, distances and structure of the embeddings of training images.

Formula
    structure: Pearson's r over runs between a measure of the training split and the test score, for pi_intra,
    pi_inter, pi_ratio and rho

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 5 (structure), 8 (spectra) and, in supplement B,
    10 (spectra within classes, averaged over classes).
    Ustinova and Lempitsky, "Learning deep embeddings with histogram loss", NIPS 2016, figure 2 (densities).
"""

from collections.abc import Collection

import numpy as np

from fairground.comparison import LEVEL, Interval, correlation_interval
from fairground.records import grouped
from fairground.reporting import DASHED, SOLID, Method, Series, arrays_in, heading, join_names, series_of, side_of
from fairground.reporting.drawing import Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, count, factor_of, signed
from fairground.reporting.figures.regularisation import MIXED, SWITCHED, also_apart, change_of, with_bases

PAGE_ORDER = {
    "structure": 50,
    "structure_curves": 52,
    "spectra": 70,
    "class_spectra": 72,
    "densities": 75,
}
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
    drawn, rows, present = [], list[tuple[str, str, str, int]](), set()
    found: dict[str, Interval] = {}
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
        labels, x, y = zip(*known, strict=True)
        r, span = "none", ""
        if len(set(x)) > 1 and len(set(y)) > 1:
            # Runs of one method are alike: they count as one point.
            level, n_points = 1 - (1 - LEVEL) / len(MEASURES), len(set(labels))
            found[title] = correlation_interval(float(np.corrcoef(x, y)[0, 1]), n_points, level=level)
            r, span = f"{found[title].mean:+.2f}", signed(found[title])[5:]
            slope, height = np.polyfit(x, y, 1)
            ends = min(x), max(x)
            items.append(Line(x=ends, y=[slope * end + height for end in ends], series="soft", dash=DASHED, width=1.2))
        drawn.append(Panel(items=items, title=f"r = {r}{span}", x=title, y=axis))
        rows.append((title, r, span.strip() or "none", len(known)))
    if not rows:
        return None
    ordered = sorted(found, key=lambda title: -abs(found[title].mean))
    sure = [title for title in ordered if side_of(found[title]) != "not settled"]
    told = "; ".join(f"{title} {signed(found[title])}" for title in ordered)
    return ReportFigure(
        title="Retrieval against the structure of the training embeddings",
        sentence=f"{axis} on {split} classes against measures of the training embeddings, one point per run, "
        f"{inputs.count(max(n for *_, n in rows))}, with Pearson's r. Intervals of all measures hold at once at 95 %; "
        f"the runs of a method count as one point. As in figure 5 of Roth et al., 2020.",
        draw=panels(drawn, keys=[key for key in inputs.series.items() if key[0] in present]),
        height=2.9 * -(-len(drawn) // 2) + 0.5,
        columns=("measure", "r", "interval", "runs"),
        rows=rows,
        answer=f"{join_names(sure, most=4) if sure else 'No measure'} of the training embeddings "
        f"{'goes' if len(sure) < 2 else 'go'} with {heading(metric)}{'' if sure else ' for sure'}, by the correlations "
        f"{told}."
        if found
        else "",
    )


def structure_curves(inputs: FigureInputs) -> ReportFigure | None:
    """The same measures after each epoch that was analysed, mean over seeds."""
    drawn, rows = [], []
    analysed = {
        method.label: [row for run in method.done for row in run.epochs if row.train] for method in inputs.methods
    }
    for measure, title in MEASURES.items():
        lines = []
        for label, found in reversed(analysed.items()):  # the best on top
            at = grouped((row.epoch, row.train[measure]) for row in found if measure in row.train)
            if len(at) > 1:
                epochs, values = zip(*sorted(at.items()), strict=True)
                means = [sum(some) / len(some) for some in values]
                lines.append(Line(x=epochs, y=means, series=inputs.series[label], width=1.8))
                rows.append((label, title, means[0], means[-1], epochs[-1]))
        if lines:
            drawn.append(Panel(items=lines, title=title, x="epoch", has_whole_x=True))
    if not drawn:
        return None
    shown = dict.fromkeys(label for label, *_ in reversed(rows))
    return ReportFigure(
        title="Structure of the training embeddings during training",
        sentence=f"{', '.join(MEASURES.values())} of the training split, mean over the seeds of "
        f"{count(len(shown), 'method')}. Epoch 0 is before training.",
        draw=panels(drawn, keys=[(label, inputs.series[label]) for label in shown], kind="line"),
        height=2.4 * -(-len(drawn) // 2) + 0.5,
        columns=("method", "measure", "first", "last", "epoch"),
        rows=rows,
    )


def arrays_of(inputs: FigureInputs, method: Method, name: str) -> list[np.ndarray]:
    """Return one array of the analyses of every run of a method that kept it."""
    paths = [inputs.analysed[run.name] for run in method.done if run.name in inputs.analysed]
    found = [one for path in paths for one in arrays_in(path, [name]) or ()]
    return [one for one in found if one.ndim == 1 and len(one) and one.dtype.kind == "f" and np.isfinite(one).all()]


def spectra_of(inputs: FigureInputs, array: str) -> tuple[dict[str, np.ndarray], int]:
    """Return each method's shares of the singular values, descending, averaged over runs, and the number of runs."""
    found: dict[str, np.ndarray] = {}
    n_runs = 0
    for method in inputs.methods:
        curves = arrays_of(inputs, method, array)
        length = min(map(len, curves), default=0)
        if length:
            found[method.label] = np.mean([curve[:length] for curve in curves], axis=0)
            n_runs += len(curves)
    return found, n_runs


def pairs_of_spectra(inputs: FigureInputs, labels: Collection[str]) -> dict[str, tuple[Method, Method]]:
    """Return each method and its changed version, by label; empty where one has several, as in a sweep."""
    changed = [
        (base, method)
        for method, base in with_bases(inputs, SWITCHED, MIXED)
        if base is not None and base.label in labels and method.label in labels
    ]
    pairs = {base.label: (base, method) for base, method in changed}
    return pairs if len(pairs) == len(changed) else {}


def spectra(inputs: FigureInputs) -> ReportFigure | None:
    return _spectra(
        inputs,
        "spectrum/spectrum",
        title="Singular value spectra",
        what="Each singular value of the training embeddings as a share of their sum, largest first, mean over seeds",
        meaning="A flat line uses all directions. As in figure 8 of Roth et al., 2020.",
    )


def class_spectra(inputs: FigureInputs) -> ReportFigure | None:
    return _spectra(
        inputs,
        "class_spectra/class_spectrum",
        title="Singular value spectra within classes",
        what="Each singular value of the training embeddings of a class as a share of their sum, largest first, mean "
        "over classes and seeds",
        meaning="A steep line: classes use few directions. As in figure 10 of Roth et al., 2020.",
    )


def _spectra(inputs: FigureInputs, array: str, *, title: str, what: str, meaning: str) -> ReportFigure | None:
    found, n_runs = spectra_of(inputs, array)
    if not found:
        return None
    used = {label: [x for x in shares.tolist() if x > _ROUNDING * shares[0]] for label, shares in found.items()}

    def line(label: str, series: Series) -> Line:
        places = range(1, len(used[label]) + 1)
        return Line(x=places, y=used[label], series=series, width=1 if series is None else 1.8)

    pairs = pairs_of_spectra(inputs, found)
    axis, share = "singular value, largest first", "share of the sum"
    if pairs:
        # Blue without and red with, as in the paper.
        drawn = [
            Panel(items=[line(base, 0), line(changed.label, 6)], title=base, x=axis, log="y")
            for base, (_, changed) in pairs.items()
        ]
        draw = panels(drawn, columns=3, keys=[("without", 0), ("with", 6)], kind="line", y=share)
        others = len(found) - 2 * len(pairs)
        change = " or ".join(dict.fromkeys(change_of(changed.settings) for _, changed in pairs.values()))
        left = f"; {count(others, 'method')} without a pair {'is' if others == 1 else 'are'} in the numbers only"
        shown = f" {count(len(pairs), 'method')} without (blue) and with (red) {change}{left if others else ''}."
        shown += also_apart(pairs)
    else:
        keys = [(label, series_of(rank)) for rank, label in enumerate(found)]
        lines = [line(*key) for key in reversed(keys)]  # the best on top
        draw = panels([Panel(items=lines, x=axis, y=share, log="y")], keys=keys, kind="line")
        grey = sum(series is None for _, series in keys)
        shown = f" {count(grey, 'method')} beyond the palette: grey." if grey else ""
    has_rest = any(len(used[label]) < len(shares) for label, shares in found.items())
    ends = " Lines end where the rest is rounding of zero." if has_rest else ""
    return ReportFigure(
        title=title,
        sentence=f"{what} ({inputs.count(n_runs)}).{shown}{ends} {meaning}",
        draw=draw,
        height=0.6 + 2.4 * -(-len(pairs) // 3) if pairs else 4.0,
        columns=("method", "largest share", "10th", "last"),
        rows=[
            (label, *(f"{100 * shares[at]:.3f} %" for at in (0, min(9, len(shares) - 1), -1)))
            for label, shares in found.items()
        ],
    )


def densities(inputs: FigureInputs) -> ReportFigure | None:
    keys = {"same class": 2, "different classes": 1}
    drawn: list[Panel] = []
    end = 0.0
    for method in inputs.methods:
        names = ("edges", "positive_density", "negative_density")
        kept = [arrays_of(inputs, method, f"densities/{name}") for name in names]
        if not all(kept) or len(drawn) == _MOST_DENSITIES:
            continue
        edges, *both = (arrays[0] for arrays in kept)
        distances = (edges[1:] + edges[:-1]) / 2
        # Beyond this distance there is next to nothing.
        top = np.maximum(*both)
        end = max(end, 1.05 * distances[top > 0.003 * top.max()].max(initial=0.0))
        items = [
            Line(x=distances.tolist(), y=y.tolist(), series=series, dash=SOLID, width=1.5, is_filled=True)
            for y, series in zip(both, keys.values(), strict=True)
        ]
        drawn.append(Panel(items=items, title=method.label, x="distance"))
    if not drawn:
        return None
    return ReportFigure(
        title="Distances within and between classes",
        sentence="Densities of the distances between training images of the same class and of different classes, for "
        f"{count(len(drawn), 'method')}, one run each. Less overlap means better separated classes.",
        draw=panels([panel._replace(x_range=(0, end)) for panel in drawn], keys=keys.items(), kind="bar"),
        height=2.5 * -(-len(drawn) // 2) + 0.4,
    )
