"""Methods with switched tuples or manifold mixup beside the same methods without.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 1 (with and without rho-regularisation), 7 (the
    share of switched tuples) and, in supplement F, 12 (with and without manifold mixup).
"""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from fairground.comparison import join_words
from fairground.records import grouped
from fairground.reporting import DASHED, SOLID, Method, Series, axis_of, count, heading, join_names, series_of
from fairground.reporting.drawing import Bar, Line, Panel, Points, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, side_of, signed
from fairground.reporting.figures.effects_of_settings import change_between, mean_change
from fairground.spec import differing

PAGE_ORDER = {"regularised": 20, "mixup": 25, "p_switch": 60}
SWITCHED, MIXED = "switched tuples", "manifold mixup"
_DOING = {SWITCHED: "Switching tuples", MIXED: "Manifold mixup"}
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
    return _with_and_without(inputs, SWITCHED, "With and without \u03c1-regularisation", "1")


def mixup(inputs: FigureInputs) -> ReportFigure | None:
    return _with_and_without(inputs, MIXED, "With and without manifold mixup", "12")


def _with_and_without(inputs: FigureInputs, change: str, title: str, number: str) -> ReportFigure | None:
    """Methods without and with a change: the score, and the decay of the training embeddings where it was measured."""
    metric, changed = inputs.habitual, with_bases(inputs, change)
    pairs: dict[str, tuple[Method, Method]] = {}
    for method, base in changed:
        if base is not None and base.label not in pairs and inputs.scores(method, metric):
            pairs[base.label] = (base, method)
    axis = axis_of(metric)
    found = {axis: {label: [inputs.scores(one, metric) for one in pair] for label, pair in pairs.items()}}
    for name, symbol in DECAYS.items():
        found[symbol] = {label: [one.values(name, "train") for one in pair] for label, pair in pairs.items()}
    known = {name: rows for name, rows in found.items() if rows and all(all(row) for row in rows.values())}
    if not known:
        return None
    scores = [values for row in found[axis].values() for values in row]
    best = ", of several strengths the best" if len(changed) > len(pairs) else ""
    score, *decays = (_paired_bars(rows, (1, 2), name) for name, rows in known.items())
    score = score._replace(x=f"{axis} (axis cut off)", x_range=cut_axis(scores))
    changes = []
    for name, rows in known.items():
        mean = mean_change([fmean(with_it) - fmean(without) for without, with_it in rows.values()])
        shown = name if name in DECAYS.values() else heading(metric)
        changes.append(f"{shown} by {signed(mean)}{' points' if name.endswith(' %') else ''}")
    over = f" on average over {len(pairs)} methods" if len(pairs) > 1 else ""
    told = f"{_DOING[change]} changes {join_words(changes)}{over}."
    sides = grouped((side_of(change_between(inputs, metric, *pair[::-1])), label) for label, pair in pairs.items())
    single = "; ".join(f"{side} for {join_names(labels)}" for side, labels in sides.items())
    more = f"{f' {told}' if best else ''}{' Intervals are over methods, at 95 %.' if over else ''}"
    return ReportFigure(
        title=title,
        sentence=f"{', '.join(known)}, mean and standard deviation, of {count(len(pairs), 'method')} without and with "
        f"{change}{best} ({inputs.count(sum(map(len, scores)))}).{more} A higher \u03c1 is a "
        f"steeper spectrum.{also_apart(pairs)} As in figure {number} of Roth et al., 2020.",
        draw=panels([score, *decays], columns=3, keys=[("without", 1), ("with", 2)], kind="bar", sharey=True),
        height=1.5 + 0.6 * len(pairs),
        columns=("method", *(f"{name}, {how}" for name in known for how in ("without", "with"))),
        rows=[(label, *(fmean(values) for rows in known.values() for values in rows[label])) for label in pairs],
        answer="" if best else f"{told} Method by method, {heading(metric)} with it is {single}.",
    )


def also_apart(pairs: Mapping[str, tuple[Method, Method]]) -> str:
    """Return in what methods with and without differ besides, as SNR by its zero-mean term."""
    told = ""
    for label, both in pairs.items():
        for key in differing(one.settings for one in both):
            if key.partition(".")[0] not in ("miner", "regulariser"):
                without, with_it = (one.settings.get(key, "none") for one in both)
                erratum = "; erratum E25" if key == "loss.zero_mean_weight" else ""
                told += f" {label} differs in {key} too: {without} without, {with_it} with{erratum}."
    return told


def cut_axis(scores: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return an axis from just below the lowest, as in the paper, that holds every score and standard deviation."""
    spreads = [(fmean(some), stdev(some) if len(some) > 1 else 0.0) for some in scores]
    ends = [end for some in scores for end in some] + [mean + sign * s for mean, s in spreads for sign in (-1, 1)]
    reach = max(ends) - min(ends)
    return max(0.0, min(ends) - max(0.35 * reach, 0.5)), max(ends) + max(0.1 * reach, 0.2)


def p_switch(inputs: FigureInputs) -> ReportFigure | None:
    """The score against the share of switched tuples, one line per setting of a loss that was run at two strengths."""
    at: dict[Loss, dict[float, Method]] = {}
    bases: dict[Loss, Method | None] = {}
    for method, base in with_bases(inputs, SWITCHED):
        settings = method.settings
        loss = tuple((key, value) for key, value in settings.items() if key.partition(".")[0] == "loss")
        owner = "miner" if settings.get("miner") == "rho_distance" else "regulariser"
        p = float(settings.get(f"{owner}.p_switch", "nan"))
        if inputs.scores(method, inputs.habitual):
            at.setdefault(loss, {}).setdefault(p, method)
        bases.setdefault(loss, base)
    axis = axis_of(inputs.habitual)
    items: list[Line | Points] = []
    keys: list[tuple[str, Series]] = []
    rows: list[tuple[str, str, float, int]] = []
    told, n_runs = [], 0
    for loss, by_p in at.items():
        if len(by_p) < 2:
            continue
        base, series = bases[loss], series_of(len(keys))
        label = (base or by_p[min(by_p)]).label
        curve = {p: inputs.scores(by_p[p], inputs.habitual) for p in sorted(by_p)}
        ps, means = list(curve), [fmean(values) for values in curve.values()]
        for p, values in curve.items():
            items.append(Points(x=[p] * len(values), y=values, series=series, sign="o", size=4, alpha=0.4))
        items.append(Line(x=ps, y=means, series=series, dash=SOLID))
        items.append(Points(x=ps, y=means, series=series, size=6, alpha=1))
        top = max(curve, key=lambda p: fmean(curve[p]))
        told.append(f"Of {len(ps)} strengths, p_switch {top:g} has the highest {axis} with {label}, {max(means):.2f}")
        if base is not None and (without := inputs.scores(base, inputs.habitual)):
            level = (fmean(without), fmean(without))
            items.append(Line(x=(min(ps), max(ps)), y=level, series=series, dash=DASHED, width=1.4))
            change = change_between(inputs, inputs.habitual, by_p[top], base)
            told[-1] += f"; against no switching that is {signed(change)}, {side_of(change)}"
            n_runs += len(without)
        keys.append((label, series))
        rows += [(label, f"{p:g}", mean, len(curve[p])) for p, mean in zip(ps, means, strict=True)]
        n_runs += sum(map(len, curve.values()))
    if not keys:
        return None
    return ReportFigure(
        title="How many tuples to switch",
        sentence=f"{axis} against p_switch, mean over seeds with every run as a dot ({inputs.count(n_runs)}); dashed "
        "lines are without switching. As in figure 7 of Roth et al., 2020.",
        draw=panels([Panel(items=items, x="p_switch", y=axis)], keys=keys),
        height=3.8,
        columns=("loss", "p_switch", "mean", "runs"),
        rows=rows,
        answer=f"{'. '.join(told)}.",
    )
