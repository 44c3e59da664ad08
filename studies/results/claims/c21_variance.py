"""C21: how much of the variance of a table of losses is the loss, and how much the split, the search and the seed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from studies.results.arithmetic import at_once
from studies.results.claims.c25_sets import finished
from studies.results.page import SHORT, Answer, Page, Picture, Section, above, listed, table
from studies.results.records import ExportedRun
from studies.results.select import CLASS_WEIGHTS, UNTRAINED, split_label
from studies.results.variance import NAMES, Share, components, shares

from fairground.reporting.drawing import Draw, Palette, colour_of, plain_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = ("esc50", "clinc150", "cub200")
N_SPLITS = 4
STUDIES = tuple(f"c21_variance_{name}_{split}" for name in SETS for split in range(1, N_SPLITS + 1))
METRIC = "map@r"
#: sets from which on the loss that all of them share is asked for
LEAST_SETS = 3
HALF = 0.5
#: settings that the first page leaves to the page itself
PUBLISHED = "default or published"


@dataclass(frozen=True, kw_only=True)
class _Table:
    """Scores (losses, splits, settings, seeds) of one data set, and what the best loss gains over no training."""

    title: str
    losses: tuple[str, ...]
    scores: np.ndarray
    gain: float

    @property
    def without_class_weights(self) -> np.ndarray:
        return self.scores[[loss not in CLASS_WEIGHTS for loss in self.losses]]


def page(
    runs: Sequence[ExportedRun],
    splits: Sequence[ExportedRun],
    settings: Sequence[ExportedRun] = (),
    field: Sequence[ExportedRun] = (),
    default: Sequence[ExportedRun] = (),
) -> Page | None:
    """Return the page of the runs of `STUDIES`, of C20's random splits, C14's settings beside C1's search, and C25."""
    searched = [one for name in SETS if (one := _searched(name, runs)) is not None]
    tables = [*_fixed(splits), *_settings(settings, field), *searched]
    alike = [one.scores for one in _at_defaults(default, splits)]
    if not tables and not alike:
        return None
    level = at_once(len(tables) + (len(searched) >= LEAST_SETS) + bool(alike))
    found = {one.title: shares([one.scores], level=level) for one in tables}
    variances = {one.title: components([one.scores]) for one in tables}
    without = {one.title: shares([one.without_class_weights], level=level)["loss"] for one in tables}
    if alike:
        over_sets = f"{len(alike)} data sets ({len(alike[0])} losses, default)"
        found[over_sets] = shares(alike, level=level)
        few = [one.without_class_weights for one in _at_defaults(default, splits)]
        without[over_sets] = shares(few, level=level)["loss"]
    if len(searched) >= LEAST_SETS:
        sets = [one.scores / one.gain for one in searched]
        found["all searched sets"] = shares(sets, level=level)
    used = [*(run for run in splits if run.is_final and run.data.startswith("random")), *settings, *default, *runs]
    return Page(
        name="c21_variance",
        title="C21. Where the variance of a table of losses comes from",
        question=(
            "A table compares losses with one split of the classes, one search and a few seeds. How much of the "
            "variance between its rows is the loss?"
        ),
        source="That a table of losses is about its losses, which every such table takes for granted.",
        fixed=(
            "on 18 November 2026, before the independent searches; the tables made of runs of C1, C14 and C20 were "
            "added when those runs were known, that of several data sets when four of C25's were"
        ),
        is_first_edition=False,
        counts=(
            "that a table is mostly its losses holds if the interval of the loss' share of the variance of test MAP@R "
            "is above one half, and does not hold if it is below. Intervals leave out one loss at a time and hold at "
            "once for the page at 95 %."
        ),
        short="; ".join(f"{title}: {_percent(one['loss'])} is the loss" for title, one in found.items()) + ".",
        headline=_headline(found, without, bool(searched)),
        answers=[
            Answer(
                data=f"{title}: a table is mostly its losses",
                verdict=above(one["loss"], HALF),
                sentence=f"{_percent(one['loss'])} of the variance between rows is the loss"
                + (
                    f"; without losses that learn class weights {_percent(without[title])}."
                    if title in without
                    else "."
                ),
            )
            for title, one in found.items()
        ],
        sections=[
            Section(heading="Shares of the variance", text=_shares(found)),
            Section(heading="Without class weights", text=_without(found, without)),
            Section(heading="Standard deviations", text=_deviations(tables, variances)),
        ],
        pictures=[
            Picture(
                name="c21_variance",
                caption=(
                    "Shares of the variance between the rows of a table of losses (test MAP@R; one split, one "
                    "search or kind of settings and one seed per table)."
                ),
                draw=_stacked(found),
                size=(6.4, 1.3 + 0.5 * len(found)),
            )
        ],
        limits=[
            "Heads on frozen features: a loss moves a linear map. Fine-tuned networks may vary more by seed.",
            "At default settings a loss and its defaults are one thing: a loss whose defaults do not fit the features "
            "is low in every table, and of several such losses an interval that leaves out one at a time says nothing. "
            "Two kinds of settings (default, published by Musgrave et al. for CUB) tell them "
            "apart in part, searches fully.",
            "Random splits of a set share classes, so that they differ less than splits of new classes would; the "
            "standard split is another matter ([C20](c20_splits.md)).",
            *_unfinished(runs),
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def _fixed(runs: Sequence[ExportedRun]) -> list[_Table]:
    """Return the tables of C20's random splits: all losses at their defaults, and those with published settings."""
    found = []
    for study in sorted({run.study for run in runs}):
        some = [run for run in runs if run.study == study and run.is_final and run.data.startswith("random")]
        kinds: dict[str, set[str]] = {"default": set(), "published": set()}
        for run in some:
            loss, kind = split_label(run.method)
            if kind in kinds:
                kinds[kind].add(loss)
        name = SHORT[study.rpartition("_")[2]]
        for asked in (("default",), ("default", "published")):
            losses = sorted(set.intersection(*(kinds[kind] for kind in asked)))
            scores = _scores(some, losses, asked, lambda run: run.data)
            if scores is not None:
                title = f"{name} ({len(losses)} losses, {' or '.join(asked)})"
                found.append(_Table(title=title, losses=tuple(losses), scores=scores, gain=1.0))
    return found


def _at_defaults(runs: Sequence[ExportedRun], splits: Sequence[ExportedRun]) -> list[_Table]:
    """Return C25's scores (losses, 1, 1, seeds) of every data set, in units of what its best loss gains."""
    sets = finished(runs, splits)
    if len(sets) < LEAST_SETS:
        return []
    losses = sorted(next(iter(sets.values())).scores)
    tables = [np.array([list(one.scores[loss].values()) for loss in losses]) for one in sets.values()]
    gains = [scores.mean(axis=1).max() - one.start for scores, one in zip(tables, sets.values(), strict=True)]
    return [
        _Table(title="", losses=tuple(losses), scores=scores[:, np.newaxis, np.newaxis] / gain, gain=gain)
        for scores, gain in zip(tables, gains, strict=True)
    ]


def _settings(runs: Sequence[ExportedRun], field: Sequence[ExportedRun]) -> list[_Table]:
    """Return the table of C14: the standard split, with default and published settings and those of C1's one search."""
    found = [run for run in runs if run.is_final]
    kinds = ("default", "published", "searched")
    losses = sorted({split_label(run.method)[0] for run in found if split_label(run.method)[1] == kinds[1]})
    seeds = {run.seed for run in found}
    same = [run for run in field if run.is_final and run.data == "cub200" and run.seed in seeds]
    found += [replace(run, method=f"{run.method}, {kinds[2]}") for run in same if run.method in losses]
    scores = _scores(found, losses, kinds, lambda run: run.data, least_splits=1)
    title = f"CUB's standard split ({len(losses)} losses, also searched)"
    return [] if scores is None else [_Table(title=title, losses=tuple(losses), scores=scores, gain=1.0)]


def _searched(name: str, runs: Sequence[ExportedRun]) -> _Table | None:
    """Return the table of a data set of which two splits or more are finished."""
    some = [run for run in runs if run.is_final and run.study.rpartition("_")[0] == f"c21_variance_{name}"]
    trained = [run for run in some if run.method not in UNTRAINED]
    losses = sorted({split_label(run.method)[0] for run in trained})
    searches = sorted({split_label(run.method)[1] for run in trained})
    scores = _scores(trained, losses, searches, lambda run: run.study)
    if scores is None:
        return None
    untrained = np.mean([run.scores["test", METRIC] for run in some if run.method in UNTRAINED])
    return _Table(
        title=f"{SHORT[name]} ({len(losses)} losses, {len(searches)} searches)",
        losses=tuple(losses),
        scores=scores,
        gain=float(scores.mean(axis=(1, 2, 3)).max() - untrained),
    )


def _scores(
    runs: Sequence[ExportedRun],
    losses: Sequence[str],
    kinds: Sequence[str],
    split_of: Callable[[ExportedRun], str],
    *,
    least_splits: int = 2,
) -> np.ndarray | None:
    """Return scores (losses, splits, kinds, seeds) of the splits that have all runs, if there are enough of them."""
    by_key = {(split_of(run), run.method, run.seed): run.scores["test", METRIC] for run in runs}
    seeds = sorted({run.seed for run in runs})
    methods = [f"{loss}, {kind}" for loss in losses for kind in kinds]
    complete = [
        split
        for split in sorted({split_of(run) for run in runs})
        if all((split, method, seed) in by_key for method in methods for seed in seeds)
    ]
    if len(complete) < least_splits or len(losses) < 3:
        return None
    return np.array(
        [
            [[[by_key[split, f"{loss}, {kind}", seed] for seed in seeds] for kind in kinds] for split in complete]
            for loss in losses
        ]
    )


def _percent(share: Share) -> str:
    return f"{100 * share.value:.0f} % [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _headline(found: Mapping[str, Mapping[str, Share]], without: Mapping[str, Share], is_searched: bool) -> str:
    """Return the finding: tables at defaults first, then what makes a table less about its losses."""
    parts = [
        f"{_percent(one['loss'])} on {title}"
        + (f", {100 * without[title].value:.0f} % without" if title in without else "")
        for title, one in found.items()
        if PUBLISHED not in title
    ]
    open_question = "" if is_searched else " Independent searches are outstanding."
    return (
        "**On one data set a table of losses is about its losses; between data sets, mostly about which losses fit "
        "their defaults.** Of the variance between its rows the loss is, with and without the losses that learn class "
        f"weights, {'; '.join(parts)}.{open_question}"
    )


def _without(found: Mapping[str, Mapping[str, Share]], without: Mapping[str, Share]) -> str:
    rows = [[title, _percent(found[title]["loss"]), _percent(one)] for title, one in without.items()]
    note = (
        f"{listed(CLASS_WEIGHTS)} learn a vector per class that begins at random, and most of them are low wherever "
        "their settings are defaults. Added after the results were known; it decides nothing."
    )
    return f"{note}\n\n{table(['table', 'share of the loss', 'without these losses'], rows)}"


def _shares(found: Mapping[str, Mapping[str, Share]]) -> str:
    rows = [[title, *(_cell(one[name]) for name in NAMES)] for title, one in found.items()]
    return table(["table", *NAMES], rows) + (
        "\n\nIn per cent. The share of the loss is also the correlation to expect of two tables that have only their "
        "losses in common. With one data set, loss × data set cannot be told from the loss, and with one split "
        "neither can loss × split. Where kinds of settings are compared, loss × search is loss × kind of settings. Of "
        "several data sets, scores are shares of what the best loss gains there over the untrained network."
    )


def _cell(share: Share) -> str:
    return _percent(share) if share.high > 0 else ""


def _deviations(tables: Sequence[_Table], variances: Mapping[str, np.ndarray]) -> str:
    rows = []
    for one in tables:
        n_losses, n_splits, n_settings, n_seeds = one.scores.shape
        cells = [f"{value:.2f}" if value else "" for value in 100 * np.sqrt(variances[one.title])]
        rows.append([one.title, f"{n_losses} × {n_splits} × {n_settings} × {n_seeds}", *cells])
    return table(["table", "losses × splits × settings × seeds", *NAMES], rows, n_text=2) + "\n\nPoints of MAP@R."


def _unfinished(runs: Sequence[ExportedRun]) -> list[str]:
    done = {run.study for run in runs if run.is_final}
    missing = [study for study in STUDIES if study not in done]
    return [f"Not run yet, or not finished: {listed([f'`{study}`' for study in missing])}."] if missing else []


def _stacked(found: Mapping[str, Mapping[str, Share]]) -> Draw:
    def draw(figure: "Figure", palette: Palette) -> None:
        axes = figure.subplots()
        plain_axes(axes, palette)
        places = np.arange(len(found))[::-1]
        start = np.zeros(len(found))
        for number, name in enumerate(NAMES):
            widths = np.array([100 * one[name].value for one in found.values()])
            axes.barh(places, widths, left=start, height=0.6, color=colour_of(number, palette), label=f" {name}")
            start += widths
        axes.set_yticks(places, list(found), fontsize=8)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of the variance between rows, %", fontsize=9, color=palette["soft"])
        below = {"loc": "upper center", "bbox_to_anchor": (0.3, -0.3), "ncols": 3}
        axes.legend(frameon=False, fontsize=8, labelcolor=palette["ink"], columnspacing=1, **below)

    return draw
