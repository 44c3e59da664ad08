"""What settings other than the loss do: the effect of each factor, and distributions of relative performance.

Formula
    relative performance of a run = its score / the highest score by the same metric with the same loss at any level of
    the same factor, over higher-is-better metrics

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 2 and 3 (distributions).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import fmean
from typing import NamedTuple

import numpy as np

from fairground.comparison import LEVEL, Interval, t_interval
from fairground.records import grouped
from fairground.reporting import SOLID, UNFAIR, Bar, Line, Method, Panel, Points, panels, shorten
from fairground.reporting.figure import FigureInputs, ReportFigure, axis_of, factor_of, side_of, signed
from fairground.spec import ROOM_OF, differing

PAGE_ORDER = {"effects": 28, "distributions": 30}
_MOST_FACTORS, _MOST_LEVELS = 6, 8

#: the settings that methods share
Common = tuple[tuple[str, str], ...]


class Factor(NamedTuple):
    """The methods at each level of a factor by what else they have in common, `owners` being what that is called."""

    levels: dict[str, dict[Common, Method]]
    owners: dict[Common, str]


def factors_of(inputs: FigureInputs) -> dict[str, Factor]:
    """Return every factor other than the loss with the methods that differ from another in this factor alone."""
    methods = {method.key: method for method in inputs.methods}
    flat = {key: method.settings for key, method in methods.items()}
    found: dict[str, Factor] = {}
    for factor, keys in _factors(flat.values()).items():
        named = _levels(flat, factor, keys)
        own = {name for spec in flat.values() for name in spec if name == factor or name.startswith(f"{factor}.")}
        own |= set(keys)
        equal = grouped((tuple(one for one in spec.items() if one[0] not in own), key) for key, spec in flat.items())
        levels: dict[str, dict[Common, Method]] = {}
        for common, alike in equal.items():
            if len({named[key] for key in alike}) > 1:
                for key in alike:
                    levels.setdefault(named[key], {})[common] = methods[key]
        if 2 <= len(levels) <= _MOST_LEVELS:
            found[factor] = Factor(levels, {common: _owner(equal[common], inputs) for common in equal})
    names = _study_names(found, inputs.runs.names)
    return {
        factor: Factor({names.get(factor, {}).get(level, level): some for level, some in levels.items()}, owners)
        for factor, (levels, owners) in list(found.items())[:_MOST_FACTORS]
    }


def _owner(keys: Sequence[str], inputs: FigureInputs) -> str:
    """Return what methods that differ in one factor share: the beginning of the study's names, or the loss."""
    starts = {inputs.runs.names.get(key, "").rpartition(", ")[0] for key in keys}
    losses = [method.settings.get("loss", "?") for method in inputs.methods if method.key in keys]
    return starts.pop() or losses[0] if len(starts) == 1 else losses[0]


def distributions_of(inputs: FigureInputs) -> dict[str, dict[str, np.ndarray]]:
    found: dict[str, dict[str, np.ndarray]] = {}
    split, directions = inputs.table.split, inputs.table.higher_is_better
    for factor, (levels, _) in factors_of(inputs).items():
        methods = [method for some in levels.values() for method in some.values()]
        relative: dict[str, list[float]] = {method.key: [] for method in methods}
        by_loss = grouped((method.settings.get("loss", ""), method) for method in methods)
        for metric in [metric for metric, is_higher in directions.items() if is_higher]:
            for alike in by_loss.values():
                values = {method.key: method.values(metric, split) for method in alike}
                top = max((value for some in values.values() for value in some), default=0.0)
                for key, some in values.items():
                    relative[key] += [100 * value / top for value in some if top > 0]
        shares = {level: [relative[method.key] for method in some.values()] for level, some in levels.items()}
        found[factor] = {level: np.concatenate(some) for level, some in shares.items() if any(some)}
    return {factor: levels for factor, levels in found.items() if len(levels) > 1}


def _factors(specs: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Return what varies besides loss and data: a component with all its settings, or one plain setting."""
    found: dict[str, list[str]] = {}
    varying = differing(specs)
    for key in varying:
        # The input size belongs to the network: 227 pixels for GoogLeNet.
        part = "trunk" if key == "transform.side" and "trunk" in varying else key.partition(".")[0]
        if part not in ("loss", "data"):  # other data are another task
            found.setdefault(part if part in ROOM_OF else key, []).append(key)
    # One setting of a component that stays the same is the factor itself: `head.embedding_dim`.
    return {keys[0] if len(keys) == 1 else factor: keys for factor, keys in found.items()}


def _levels(flat: Mapping[str, Mapping[str, str]], factor: str, keys: Sequence[str]) -> dict[str, str]:
    """Return each method's level: a component's name and its settings that vary under that name, as SPC-2, 4 and 8."""
    found = {}
    for method, spec in flat.items():
        same = [other for other in flat.values() if other.get(factor) == spec.get(factor)]
        varying = {key for key in keys if len({other.get(key) for other in same}) > 1}
        telling = [key for key in keys if key in spec and (key in varying or not key.startswith(f"{factor}."))]
        texts = [f"{key.partition('.')[2].replace('_', ' ')} {spec[key]}".strip() for key in telling]
        found[method] = spec[telling[0]] if len(telling) == 1 else ", ".join(texts) or "none"
    return found


def _study_names(found: Mapping[str, Factor], names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the study's names for the levels of a factor: the ends of its methods' names, "Margin, SPC-2".

    Used only where all levels of a factor have one end each, under the same beginnings, that no other factor has; or
    where a level is several settings at once, which are hard to read.
    """
    ends: dict[str, dict[str, str]] = {}
    for factor, (levels, _) in found.items():
        split = {
            level: [names.get(method.key, "").rpartition(", ") for method in some.values()]
            for level, some in levels.items()
        }
        beginnings = {frozenset(start for start, _, _ in parts) for parts in split.values()}
        last = {level: {end for _, comma, end in parts if comma} for level, parts in split.items()}
        if len(beginnings) == 1 and all(len(some) == 1 for some in last.values()):
            ends[factor] = {level: min(some) for level, some in last.items()}
    used = Counter(end for levels in ends.values() for end in levels.values())
    return {
        factor: levels
        for factor, levels in ends.items()
        if all(used[end] == 1 for end in levels.values()) or any(", " in level for level in levels)
    }


def distributions(inputs: FigureInputs) -> ReportFigure | None:
    found = distributions_of(inputs)
    if not found:
        return None
    axis = "% of the best with the same loss"
    drawn = []
    for key, levels in found.items():
        ordered = sorted(levels.items(), key=lambda item: -float(np.median(item[1])))
        items: list[Line | Bar] = []
        for row, (_, values) in enumerate(ordered):
            least, low, middle, high, most = np.quantile(values, [0, 0.25, 0.5, 0.75, 1]).tolist()
            items += [
                Line(x=(least, most), y=(row, row), series="soft", width=1),
                Bar(row=row, value=high, start=low, height=0.5, alpha=0.3),
                Line(x=(middle, middle), y=(row - 0.25, row + 0.25), width=2.5),
            ]
        drawn.append(Panel(items=items, rows=[level for level, _ in ordered], title=key, x=axis))
    n_levels = sum(map(len, found.values()))
    at = {
        (key, level): {run.name for method in methods.values() for run in method.done}
        for key, (levels, _) in factors_of(inputs).items()
        for level, methods in levels.items()
    }
    return ReportFigure(
        title="Distributions of relative performance",
        sentence="Every higher-is-better metric of every run as a share of the best that the same loss has with any "
        f"value of the same factor, by {', '.join(shorten(key, 40) for key in found)} "
        f"({inputs.count(len(set[str]().union(*at.values())))}). Boxes hold the middle half, the line is the median. "
        "As in figures 2 and 3 of Roth et al., 2020.",
        draw=panels(drawn),
        height=max(2.2, 0.9 * -(-len(found) // 2) + 0.38 * n_levels / (2 if len(found) > 1 else 1)),
        columns=("setting", "value", "median", "runs"),
        rows=[
            (key, level, f"{np.median(values):.1f} %", len(at[key, level]))
            for key, levels in found.items()
            for level, values in levels.items()
        ],
    )


def mean_change(values: Sequence[float], *, n_claims: int = 1) -> Interval:
    """Return the mean over losses with its interval over losses; `n_claims` such intervals hold at once."""
    return t_interval(values, level=1 - (1 - LEVEL) / n_claims)


def change_between(inputs: FigureInputs, metric: str, one: Method, other: Method) -> Interval:
    """Return by how much `one` is above `other`, from the comparison of the table: all its pairs hold at once."""
    first, second = (method.label.removeprefix(UNFAIR) for method in (one, other))
    pair = inputs.table.comparisons[metric].pair(first, second)
    sign = factor_of(metric) if pair.a == first else -factor_of(metric)
    low, high = sorted(sign * end for end in (pair.low, pair.high) if end is not None) or (None, None)
    return Interval(mean=sign * pair.difference, low=low, high=high, n=pair.n_shared)


def effects(inputs: FigureInputs) -> ReportFigure | None:
    found = factors_of(inputs) if inputs.kind == "factor" else {}
    metric, axis = inputs.metric, axis_of(inputs.metric)
    drawn: list[Panel] = []
    rows: list[tuple[str, str, str, str, str]] = []
    told, runs, losses = [], set[str](), set[str]()
    for name, (levels, owners) in found.items():
        scores = {
            level: {common: fmean(some) for common, method in methods.items() if (some := inputs.scores(method))}
            for level, methods in levels.items()
        }
        shared = [common for common in owners if all(common in some for some in scores.values())]
        if not shared:
            continue
        high, low, n_pairs = _ends({level: fmean(some[common] for common in shared) for level, some in scores.items()})
        changes = {
            owners[common]: change_between(inputs, metric, levels[high][common], levels[low][common])
            for common in shared
        }
        if len(changes) > 1:
            values = [change.mean for change in changes.values()]
            changes[f"mean of {len(values)} losses"] = mean_change(values, n_claims=n_pairs * len(found))
        losses |= {owners[common] for common in shared}
        runs |= {run.name for at in (high, low) for common in shared for run in levels[at][common].done}
        shown, change = (name.partition(".")[2] or name).replace("_", " "), f"{high} instead of {low}"
        ends = (high, low) if n_pairs == 1 else (f"{high} (highest)", f"{low} (lowest)")
        told.append((list(changes.values())[-1], f"{shown} {ends[0]} instead of {ends[1]}"))
        items: list[Line | Points] = []
        for row, one in enumerate(changes.values()):
            if one.low is not None and one.high is not None:
                items.append(Line(x=(one.low, one.high), y=(row, row), dash=SOLID))
            items.append(Points(x=[one.mean], y=[row], sign="D", size=6, alpha=1))
        title, x = f"{shown}: {change}", f"change of {axis}"
        drawn.append(Panel(items=items, rows=list(changes), title=title, x=x, has_zero_line=True))
        rows += [(shown, change, owner, signed(one), side_of(one)) for owner, one in changes.items()]
    if not drawn:
        return None
    over = f"On average over {len(losses)} losses" if len(losses) > 1 else "With this loss"
    ordered = sorted(told, key=lambda pair: -pair[0].mean)
    settled = [f"{signed(one)} with {what}" for one, what in ordered if side_of(one) != "not settled"]
    unsettled = "; ".join(f"{what} ({signed(one)})" for one, what in told if side_of(one) == "not settled")
    answer = f"{over}, no change of {axis} is settled: {unsettled}."
    if settled:
        more = f" Not settled: {unsettled}." if unsettled else ""
        answer = f"{over}, {axis} changes by {'; by '.join(settled)}.{more}"
    lines = [max(len(panel.rows) for panel in drawn[i : i + 2]) for i in range(0, len(drawn), 2)]
    return ReportFigure(
        title="What each factor does",
        sentence=f"Change of {axis} from one value of a factor to another, all else being equal: from the smallest to "
        "the largest number, or from the value with the lowest mean to that with the highest. Lines are 95 % "
        "intervals: of a single loss over seeds, for all pairs of methods at once; of the mean, over losses, for all "
        f"factors at once ({inputs.count(len(runs))}).",
        draw=panels(drawn),
        height=0.4 + sum(0.9 + 0.3 * n for n in lines),
        columns=("factor", "values", "loss", "change", "verdict"),
        rows=rows,
        answer=answer,
    )


def _ends(means: Mapping[str, float]) -> tuple[str, str, int]:
    """Return the two levels to compare, and of how many pairs they were chosen: numbers by size, others by score."""
    with suppress(ValueError):
        numbers = {float(level): level for level in means}
        return numbers[max(numbers)], numbers[min(numbers)], 1
    return max(means, key=means.__getitem__), min(means, key=means.__getitem__), len(means) * (len(means) - 1) // 2
