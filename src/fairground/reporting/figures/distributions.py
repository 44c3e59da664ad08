"""How choices other than the loss move results: distributions of relative performance over metrics and losses.

Formula
    relative performance of a run = its score / the highest score by the same metric with the same loss,
    over higher-is-better metrics

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, figures 2 and 3.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from fairground.reporting.drawing import Bar, Line, Panel, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.headings import shorten
from fairground.spec.identity import differing
from fairground.spec.run import ROOM_OF

PAGE_ORDER = 30
_MOST_FACTORS, _MOST_LEVELS = 6, 8

Distributions = Mapping[str, Mapping[str, np.ndarray]]


def distributions_of(inputs: FigureInputs) -> Distributions:
    """Return, for each factor other than the loss, the relative performances at each of its levels.

    A level holds the methods that differ from another one in this factor alone, everything else being equal.
    """
    flat = {method.key: inputs.settings(method) for method in inputs.methods}
    relative = _relative(inputs, flat)
    found: dict[str, dict[str, list[str]]] = {}
    for factor, keys in _factors(flat.values()).items():
        telling = _telling(flat, factor, keys)
        equal: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for method, spec in flat.items():
            rest = tuple(
                (key, value)
                for key, value in spec.items()
                if key not in keys and key != factor and not key.startswith(f"{factor}.")
            )
            equal.setdefault(rest, []).append(method)
        levels: dict[str, list[str]] = {}
        for methods in equal.values():
            named = {method: _level(flat[method], telling[method]) for method in methods}
            for method, level in named.items() if len(set(named.values())) > 1 else ():
                levels.setdefault(level, []).extend([method] if relative[method] else [])
        kept = {level: methods for level, methods in levels.items() if methods}
        if 2 <= len(kept) <= _MOST_LEVELS:
            found[factor] = kept
    names = _names(inputs, found)
    return {
        factor: {
            names.get((factor, level), level): np.array([value for method in methods for value in relative[method]])
            for level, methods in levels.items()
        }
        for factor, levels in list(found.items())[:_MOST_FACTORS]
    }


def _names(inputs: FigureInputs, found: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[tuple[str, str], str]:
    """Return the study's names for the levels of a factor: the ends of its methods' names, "Margin, SPC-2".

    Used only where all levels of a factor have one end each, under the same beginnings, that no other factor has.
    """
    labels = {method.key: inputs.runs.names.get(method.key, "") for method in inputs.methods}
    ends: dict[str, dict[str, str]] = {}
    for factor, levels in found.items():
        split = {level: [labels[method].rpartition(", ") for method in methods] for level, methods in levels.items()}
        beginnings = {frozenset(start for start, _, _ in parts) for parts in split.values()}
        last = {level: {end for _, comma, end in parts if comma} for level, parts in split.items()}
        if len(beginnings) == 1 and all(len(some) == 1 for some in last.values()):
            ends[factor] = {level: min(some) for level, some in last.items()}
    used = Counter(end for levels in ends.values() for end in levels.values())
    return {
        (factor, level): end
        for factor, levels in ends.items()
        if all(used[end] == 1 for end in levels.values())
        for level, end in levels.items()
    }


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


def _telling(flat: Mapping[str, Mapping[str, str]], factor: str, keys: Sequence[str]) -> dict[str, list[str]]:
    """Return by method the keys that tell its level: of the component's own settings those that vary under its name."""
    found: dict[str, list[str]] = {}
    for method, spec in flat.items():
        same = [other for other in flat.values() if other.get(factor) == spec.get(factor)]
        varying = {key for key in keys if len({other.get(key) for other in same}) > 1}
        found[method] = [key for key in keys if key in varying or not key.startswith(f"{factor}.")]
    return found


def _level(spec: Mapping[str, str], keys: Iterable[str]) -> str:
    """Return one value of a factor: a component's name and those of its settings that vary, such as SPC-2, 4 and 8."""
    said = [(key, spec[key]) for key in keys if key in spec]
    words = [value if "." not in key else f"{key.partition('.')[2].replace('_', ' ')} {value}" for key, value in said]
    return said[0][1] if len(said) == 1 else ", ".join(words) or "none"


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when something other than the loss varies."""
    found = distributions_of(inputs)
    if not found:
        return None
    n_runs = sum(len(method.done) for method in inputs.methods)
    lines = sum(len(levels) for levels in found.values())
    axis = "% of the best" if len(found) > 1 else "% of the best with the same loss"
    return ReportFigure(
        name="distributions",
        title="Effect of other choices",
        sentence=(
            "Performance relative to the best with the same loss, over all seeds and higher-is-better metrics, by "
            f"{', '.join(shorten(key, 40) for key in found)} ({count(n_runs, 'run')}). Boxes hold the middle half, the "
            "line is the median. As in figures 2 and 3 of Roth et al., 2020."
        ),
        draw=panels([_boxes(key, levels, axis) for key, levels in found.items()]),
        height=max(2.2, 0.9 * -(-len(found) // 2) + 0.38 * lines / (2 if len(found) > 1 else 1)),
        columns=("setting", "value", "median", "runs by metrics"),
        numbers=tuple(
            (key, level, f"{np.median(values):.1f} %", str(len(values)))
            for key, levels in found.items()
            for level, values in levels.items()
        ),
    )


def _boxes(key: str, levels: Mapping[str, np.ndarray], axis: str) -> Panel:
    ordered = sorted(levels.items(), key=lambda item: -float(np.median(item[1])))
    items: list[Line | Bar] = []
    for row, (_, values) in enumerate(ordered):
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75]).tolist()
        items += [
            Line(x=(float(values.min()), float(values.max())), y=(row, row), series="soft", width=1),
            Bar(row=row, value=high, start=low, height=0.5, alpha=0.3),
            Line(x=(middle, middle), y=(row - 0.25, row + 0.25), width=2.5),
        ]
    return Panel(items=items, rows=[level for level, _ in ordered], title=key, x=axis)


def _relative(inputs: FigureInputs, flat: Mapping[str, Mapping[str, str]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {method.key: [] for method in inputs.methods}
    for loss in dict.fromkeys(spec.get("loss") for spec in flat.values()):
        inside = [method for method in inputs.methods if flat[method.key].get("loss") == loss]
        for metric in [metric for metric, is_higher in inputs.table.higher_is_better.items() if is_higher]:
            top = max((value for method in inside for value in method.values(metric, inputs.table.split)), default=0)
            for method in inside if top > 0 else ():
                found[method.key] += [100 * v / top for v in method.values(metric, inputs.table.split)]
    return found
