"""With and without manifold mixup: what each objective loses, and how far its embeddings are compressed.

Paper
    Roth et al., "Revisiting training strategies", ICML 2020, supplement F, figure 12.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from fairground.reporting.drawing import Key, panels
from fairground.reporting.figure import FigureInputs, ReportFigure, count
from fairground.reporting.figures.regularised import base_of, is_changed, is_mixed, paired_bars
from fairground.reporting.headings import heading, unit
from fairground.reporting.methods import Method

PAGE_ORDER = 25
#: of the training embeddings: decay of all of them, and within classes
DECAYS: Mapping[str, str] = {"rho": "\u03c1", "class_rho": "\u03c1 within classes"}
_WITHOUT, _WITH = 0, 1


@dataclass(frozen=True, kw_only=True)
class MixupPair:
    """One objective: its values without and with mixup, by the name of the quantity."""

    label: str
    without: Mapping[str, tuple[float, ...]]
    mixed: Mapping[str, tuple[float, ...]]


def mixup_pairs_of(inputs: FigureInputs) -> list[MixupPair]:
    """Return each method with mixup and the most similar one without."""
    plain = [method for method in inputs.methods if not is_changed(inputs.settings(method))]
    found = []
    for method in inputs.methods:
        base = base_of(inputs, method, plain) if is_mixed(inputs.settings(method)) else None
        if base is not None:
            without, mixed = (_quantities(inputs, one) for one in (base, method))
            found.append(MixupPair(label=base.label, without=without, mixed=mixed))
    return found


def figure_of(inputs: FigureInputs) -> ReportFigure | None:
    """Return the figure when some method was run both ways."""
    pairs = mixup_pairs_of(inputs)
    titles = {inputs.habitual: f"{heading(inputs.habitual)}{unit(inputs.habitual)}", **DECAYS}
    quantities = [
        name for name in titles if pairs and all(pair.without.get(name) and pair.mixed.get(name) for pair in pairs)
    ]
    if not quantities:
        return None
    n_runs = sum(len(pair.without[quantities[0]]) + len(pair.mixed[quantities[0]]) for pair in pairs)
    drawn = [
        paired_bars(
            {pair.label: (pair.without[name], pair.mixed[name]) for pair in pairs}, _WITHOUT, _WITH, titles[name]
        )
        for name in quantities
    ]
    keys = [Key(text="without", series=_WITHOUT, kind="bar"), Key(text="with mixup", series=_WITH, kind="bar")]
    return ReportFigure(
        name="mixup",
        title="With and without manifold mixup",
        sentence=(
            f"{', '.join(titles[name] for name in quantities)}, mean and standard deviation, of "
            f"{count(len(pairs), 'method')} without and with manifold mixup ({count(n_runs, 'run')}). As in figure 12 "
            "of Roth et al., 2020; the spectra are below, where runs kept them."
        ),
        draw=panels(drawn, columns=3, keys=keys, has_shared_y=True),
        height=1.5 + 0.6 * len(pairs),
        columns=("method", *(f"{titles[name]}, {how}" for name in quantities for how in ("without", "with"))),
        numbers=tuple(
            (pair.label, *(f"{fmean(side[name]):.2f}" for name in quantities for side in (pair.without, pair.mixed)))
            for pair in pairs
        ),
    )


def _quantities(inputs: FigureInputs, method: Method) -> dict[str, tuple[float, ...]]:
    decays = {name: tuple(method.values(name, "train")) for name in DECAYS}
    return {inputs.habitual: tuple(inputs.scores(method, inputs.habitual)), **decays}
