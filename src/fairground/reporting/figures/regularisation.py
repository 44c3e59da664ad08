"""Methods with switched tuples or manifold mixup beside the same methods without.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 1 (with and without rho-regularisation), 7 (the
    share of switched tuples) and, in supplement F, 12 (with and without manifold mixup).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev

from fairground.reporting import FigureInputs, Method, ReportFigure, axis_of, count
from fairground.reporting.drawing import DASHED, SOLID, Bar, Line, Panel, Points, Series, panels, series_of

PAGE_ORDER = {"regularised": 20, "mixup": 25, "p_switch": 60}
SWITCHED, MIXED = "switched tuples", "manifold mixup"
#: of the training embeddings: decay of all of them, and within classes
DECAYS = {"rho": "\u03c1", "class_rho": "\u03c1 within classes"}
#: a loss with all its settings
Loss = tuple[tuple[str, str], ...]


def change_of(settings: Mapping[str, str]) -> str:
    """Return what makes a method another one's changed version: switched tuples, manifold mixup, or nothing."""
    if settings.get("miner") == "rho_distance" or settings.get("regulariser") == "rho":
        return SWITCHED
    return MIXED if settings.get("regulariser") == "manifold_mixup" else ""


def with_bases(inputs: FigureInputs, *changes: str) -> list[tuple[Method, Method | None]]:
    """Return each changed method, best first, with the plain one most similar to it; None where its loss has none."""
    plain = [method for method in inputs.methods if not change_of(method.settings)]
    found = []
    for method in (one for one in inputs.methods if change_of(one.settings) in changes):
        mine = method.settings
        alike = [other for other in plain if other.settings.get("loss") == mine.get("loss")]
        found.append((method, max(alike, key=lambda other: _agreement(mine, other.settings), default=None)))
    return found


def _agreement(mine: Mapping[str, str], theirs: Mapping[str, str]) -> int:
    # rho_distance switches what the distance-weighted miner finds.
    is_same_mining = mine.get("miner") == "rho_distance" and theirs.get("miner") == "distance_weighted"
    return sum(theirs.get(key) == value for key, value in mine.items()) + 3 * is_same_mining


def _paired_bars(pairs: Mapping[str, Sequence[Sequence[float]]], series: tuple[int, int], axis: str) -> Panel:
    """Return a row per name with two bars, without and with: means with standard deviations."""
    bars = []
    for row, both in enumerate(pairs.values()):
        for values, shift, colour in zip(both, (-0.19, 0.19), series, strict=True):
            error = stdev(values) if len(values) > 1 else None
            bars.append(Bar(row=row + shift, value=fmean(values), series=colour, height=0.34, alpha=0.75, error=error))
    return Panel(items=bars, rows=list(pairs), x=axis)


def regularised(inputs: FigureInputs) -> ReportFigure | None:
    pairs: dict[str, tuple[list[float], list[float]]] = {}
    switched = with_bases(inputs, SWITCHED)
    for method, base in switched:
        if base is not None and base.label not in pairs:
            without, with_it = (inputs.scores(one, inputs.habitual) for one in (base, method))
            if without and with_it:
                pairs[base.label] = (without, with_it)
    if not pairs:
        return None
    axis = axis_of(inputs.habitual)
    every = [scores for pair in pairs.values() for scores in pair]
    best = ", of several strengths the best" if len(switched) > len(pairs) else ""
    gain = fmean(fmean(with_it) - fmean(without) for without, with_it in pairs.values())
    panel = replace(_paired_bars(pairs, (1, 2), f"{axis} (axis cut off)"), x_range=cut_axis(every))
    return ReportFigure(
        title="With and without \u03c1-regularisation",
        sentence=f"{axis}, mean and standard deviation, of {count(len(pairs), 'method')} without and with switched "
        f"tuples{best} ({count(sum(map(len, every)), 'run')}); mean difference {gain:+.2f}. As in figure 1 of Roth et "
        "al., 2020.",
        draw=panels([panel], keys=[("without", 1), ("with", 2)], kind="bar"),
        height=1.3 + 0.6 * len(pairs),
        columns=("method", "without", "with"),
        rows=[(label, *map(fmean, pair)) for label, pair in pairs.items()],
    )


def cut_axis(scores: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return an axis from just below the lowest, as in the paper: the gains are small beside the scores.

    It holds every score and the ends of the standard deviations.
    """
    spreads = [(fmean(some), stdev(some) if len(some) > 1 else 0.0) for some in scores]
    ends = [end for some in scores for end in some] + [mean + sign * s for mean, s in spreads for sign in (-1, 1)]
    reach = max(ends) - min(ends)
    return max(0.0, min(ends) - max(0.35 * reach, 0.5)), max(ends) + max(0.1 * reach, 0.2)


def mixup(inputs: FigureInputs) -> ReportFigure | None:
    pairs = [(base, mixed) for mixed, base in with_bases(inputs, MIXED) if base is not None]
    found = {
        axis_of(inputs.habitual): [[inputs.scores(one, inputs.habitual) for one in pair] for pair in pairs],
        **{title: [[one.values(name, "train") for one in pair] for pair in pairs] for name, title in DECAYS.items()},
    }
    known = {title: rows for title, rows in found.items() if rows and all(all(row) for row in rows)}
    if not known:
        return None
    labels = [base.label for base, _ in pairs]
    n_runs = sum(len(values) for row in next(iter(known.values())) for values in row)
    drawn = [_paired_bars(dict(zip(labels, rows, strict=True)), (0, 1), title) for title, rows in known.items()]
    return ReportFigure(
        title="With and without manifold mixup",
        sentence=f"{', '.join(known)}, mean and standard deviation, of {count(len(pairs), 'method')} without and with "
        f"manifold mixup ({count(n_runs, 'run')}). As in figure 12 of Roth et al., 2020; the spectra are below, "
        "where runs kept them.",
        draw=panels(drawn, columns=3, keys=[("without", 0), ("with mixup", 1)], kind="bar", sharey=True),
        height=1.5 + 0.6 * len(pairs),
        columns=("method", *(f"{title}, {how}" for title in known for how in ("without", "with"))),
        rows=[
            (label, *(fmean(values) for rows in known.values() for values in rows[row]))
            for row, label in enumerate(labels)
        ],
    )


def p_switch(inputs: FigureInputs) -> ReportFigure | None:
    """The score against the share of switched tuples, one line per setting of a loss that was run at two strengths.

    It has the study's name of the most similar method without switching, where there is one.
    """
    at: dict[Loss, dict[float, list[float]]] = {}
    bases: dict[Loss, Method | None] = {}
    for method, base in with_bases(inputs, SWITCHED):
        settings = method.settings
        loss = tuple((key, value) for key, value in settings.items() if key.partition(".")[0] == "loss")
        owner = "miner" if settings.get("miner") == "rho_distance" else "regulariser"
        p = float(settings.get(f"{owner}.p_switch", "nan"))
        at.setdefault(loss, {}).setdefault(p, []).extend(inputs.scores(method, inputs.habitual))
        bases.setdefault(loss, base)
    items: list[Line | Points] = []
    keys: list[tuple[str, Series]] = []
    rows: list[tuple[str, str, float, int]] = []
    n_runs = 0
    for loss, by_p in at.items():
        if len(by_p) < 2:
            continue
        base, series = bases[loss], series_of(len(keys))
        label = (base and inputs.runs.names.get(base.key)) or _label(loss, list(at))
        curve = {p: by_p[p] for p in sorted(by_p) if by_p[p]}
        ps, means = list(curve), [fmean(values) for values in curve.values()]
        for p, values in curve.items():
            items.append(Points(x=[p] * len(values), y=values, series=series, sign="o", size=4, alpha=0.4))
        items.append(Line(x=ps, y=means, series=series, dash=SOLID))
        items.append(Points(x=ps, y=means, series=series, size=6, alpha=1))
        without = [] if base is None else inputs.scores(base, inputs.habitual)
        if without:
            level = (fmean(without), fmean(without))
            items.append(Line(x=(min(ps), max(ps)), y=level, series=series, dash=DASHED, width=1.4))
        keys.append((label, series))
        rows += [(label, f"{p:g}", mean, len(curve[p])) for p, mean in zip(ps, means, strict=True)]
        n_runs += sum(map(len, curve.values())) + len(without)
    if not keys:
        return None
    axis = axis_of(inputs.habitual)
    return ReportFigure(
        title="How many tuples to switch",
        sentence=f"{axis} against p_switch, mean over seeds with every run as a dot ({count(n_runs, 'run')}); dashed "
        "lines are without switching. As in figure 7 of Roth et al., 2020.",
        draw=panels([Panel(items=items, x="p_switch", y=axis)], keys=keys),
        height=3.8,
        columns=("loss", "p_switch", "mean", "runs"),
        rows=rows,
    )


def _label(loss: Loss, others: Sequence[Loss]) -> str:
    same = [dict(other) for other in others if dict(other).get("loss") == dict(loss).get("loss")]
    apart = [
        f"{key.partition('.')[2].replace('_', ' ')} {value}"
        for key, value in loss
        if any(other.get(key) != value for other in same)
    ]
    return ", ".join([dict(loss).get("loss", "?"), *apart])
