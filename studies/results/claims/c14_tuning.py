"""C14: how much of a loss' place is its tuning? Default, published and searched settings next to each other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import fmean
from types import MappingProxyType

import numpy as np
from scipy import stats
from studies.results.arithmetic import N_DRAWS, SEED, Correlation, rank_correlation
from studies.results.figures import Dot, dot_rows
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, above, listed, points, signed, table
from studies.results.records import ExportedRun
from studies.results.select import (
    Table,
    by_data,
    columns,
    finals,
    finals_by_data,
    means,
    seeds_in_words,
    split_label,
    untrained_line,
    values,
)

STUDIES = ("c14_features_cub200",)
KINDS = ("default", "published", "searched")
METRIC = "map@r"


def page(
    runs: Sequence[ExportedRun],
    searched: Sequence[ExportedRun],
    at_defaults: Mapping[str, Table] = MappingProxyType({}),
) -> Page | None:
    """Return the page of the runs of `STUDIES`, and of C1 for what was searched.

    Tables of C25 have the losses of C1 at their defaults, on other data too.
    """
    found = finals_by_data(runs, DATA)
    tables = {data: _by_kind(values(some, METRIC)) for data, some in found.items()}
    for data in list(tables):
        one = values(finals(by_data(searched, DATA).get(data, [])), METRIC)
        tables[data]["searched"] = {loss: one[loss] for loss in tables[data]["default"] if loss in one}
        if not tables[data]["searched"]:
            del tables[data]
    if not tables:
        return None
    parts = {data: _parts(one) for data, one in tables.items()}
    both = _against_defaults(searched, at_defaults)
    used = [*runs, *(run for run in searched if run.data in tables)]
    return Page(
        name="c14_tuning",
        title="C14. Tuned or default: how much of a loss' place is its tuning?",
        question=(
            "How much do default, published and searched settings of one loss differ, and is that more than "
            "losses differ?"
        ),
        source=(
            "Musgrave et al., 2.3: new methods are tuned and set against competitors at their defaults or at "
            "copied numbers."
        ),
        fixed="before the runs (16 November 2026)",
        counts=(
            "tuning decides more than the loss if, of the variance of the losses' mean test MAP@R with default, "
            "published and searched settings (two-way table of losses and settings), the part that settings move "
            "within a loss is more than half, by the lower end of its 95 % interval (losses resampled); it does not if "
            "the upper end is below half; otherwise these runs cannot tell."
        ),
        short="; ".join(
            f"{SHORT[data]}: losses differ by a standard deviation of {points(one.loss)} points of MAP@R, "
            f"settings move "
            f"a loss by {points(one.settings)}; {_moved(tables[data])}"
            for data, one in parts.items()
        )
        + ".",
        headline=_headline(both, tables),
        answers=[_answer(data, one, tables[data]) for data, one in parts.items()],
        sections=[
            Section(heading="Every loss three times", text=_table(tables)),
            Section(heading="Do settings change the order?", text=_orders(tables)),
            *([Section(heading="All losses of C1, on other data too", text=_on_other_data(both))] if both else []),
        ],
        pictures=[
            Picture(
                name=f"c14_{data}",
                caption=(
                    "Test MAP@R in per cent with default, published and searched settings; the dashed line is "
                    "the untrained row."
                ),
                draw=dot_rows({data: _dots(one)}, {data: untrained_line(searched, data, METRIC)}, "MAP@R, %"),
                size=(6.4, 7.5),
            )
            for data, one in tables.items()
        ],
        limits=[
            "Published settings were found for a fine-tuned BN-Inception with batches of 32, not for heads on "
            "features.",
            "Searched settings come from 8 trials in the ranges of Musgrave et al., which do not try the defaults "
            "first; defaults are this library's.",
            f"Default and published settings: {seeds_in_words(row for one in tables.values() for row in _rows(one))}",
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


@dataclass(frozen=True, kw_only=True)
class _Both:
    """Means of losses after a search and at their defaults, in one order, and how many trials a search had."""

    searched: np.ndarray
    default: np.ndarray
    n_trials: int

    @property
    def changes(self) -> np.ndarray:
        return np.asarray(self.searched - self.default)

    @property
    def below(self) -> str:
        return f"{(self.changes < 0).sum()} of {len(self.changes)}"

    @property
    def order(self) -> Correlation:
        return rank_correlation(self.searched, self.default)


def _against_defaults(searched: Sequence[ExportedRun], at_defaults: Mapping[str, Table]) -> dict[str, _Both]:
    found = {}
    for data, some in by_data(searched, DATA).items():
        if data in at_defaults:
            after, before = columns(means(values(finals(some), METRIC)), means(at_defaults[data]))
            trials = Counter(run.method for run in some if run.kind == "trial")
            found[data] = _Both(searched=after, default=before, n_trials=max(trials.values(), default=0))
    return found


def _headline(both: Mapping[str, _Both], tables: Mapping[str, dict[str, Table]]) -> str:
    if not both:
        return ""
    below = [f"{one.below} on {SHORT[data]} ({one.n_trials} trials)" for data, one in both.items()]
    orders = [f"{one.order.value:+.2f}" for one in both.values()]
    gained = [f"{signed(float(one.changes.mean()))} ({SHORT[data]})" for data, one in both.items()]
    kept = [
        f"{_order(one, *KINDS[:2]):+.2f} against {_order(one, KINDS[0], KINDS[2]):+.2f} over {len(one['searched'])} "
        f"losses on {SHORT[data]}"
        for data, one in tables.items()
    ]
    return (
        f"**A short search helps some losses and harms others.** It changes them by {listed(gained)} points on "
        f"average and leaves {listed(below)} below their defaults; whether it pays on CUB, these runs cannot tell. "
        f"Their order correlates {listed(orders)} with that at defaults; settings published for networks keep it "
        f"better ({listed(kept)})."
    )


def _on_other_data(both: Mapping[str, _Both]) -> str:
    rows = [
        [
            SHORT[data],
            str(one.n_trials),
            one.below,
            signed(float(one.changes.mean())),
            points(float(np.abs(one.changes).mean())),
            str(one.order),
        ]
        for data, one in both.items()
    ]
    header = ["data", "trials", "losses that the search leaves below their defaults", "mean change, points"]
    header += ["mean size of a change", "rank correlation of both orders"]
    note = (
        "Test MAP@R after the search of C1 against that at the defaults of C25, the same features and split. No rule "
        "was written for this table: it was added on 20 November 2026, with the runs."
    )
    return f"{table(header, rows)}\n\n{note}"


def _by_kind(one: Table) -> dict[str, Table]:
    found: dict[str, Table] = {kind: {} for kind in KINDS}
    for label, row in one.items():
        loss, kind = split_label(label)
        found[kind][loss] = row
    return found


def _mean(one: dict[str, Table], kind: str, loss: str) -> float | None:
    row = one[kind].get(loss)
    return None if row is None else fmean(row.values())


@dataclass(frozen=True, kw_only=True)
class _Parts:
    """Standard deviations between losses and of settings within a loss, and the settings' share of the variance."""

    loss: float
    settings: float
    share: float
    low: float
    high: float

    @property
    def luck(self) -> float:
        """How far the best of 25 equal losses would be above their median if only settings moved them."""
        drawn = np.random.default_rng(SEED).normal(size=(20000, 25))
        return float((drawn.max(1) - np.median(drawn, axis=1)).mean()) * self.settings


def _parts(one: dict[str, Table]) -> _Parts:
    """Return the variance components of the losses that have all three settings."""
    shared = [loss for loss in one["searched"] if all(loss in one[kind] for kind in KINDS)]
    scores = np.array([[fmean(one[kind][loss].values()) for kind in KINDS] for loss in shared])
    loss, settings = _components(scores)
    rows = np.random.default_rng(SEED).integers(0, len(scores), (N_DRAWS, len(scores)))
    drawn = [_components(scores[some]) for some in rows]
    shares = [b / (a + b) if a + b else 0.0 for a, b in drawn]
    low, high = np.quantile(shares, [0.025, 0.975])
    return _Parts(
        loss=sqrt(loss),
        settings=sqrt(settings),
        share=settings / (loss + settings) if loss + settings else 0.0,
        low=float(low),
        high=float(high),
    )


def _components(scores: np.ndarray) -> tuple[float, float]:
    """Return the variances of a two-way table (losses, settings): between losses, and of settings within a loss."""
    left = scores - scores.mean(1, keepdims=True) - scores.mean(0) + scores.mean()
    n, k = scores.shape
    within = float((left**2).sum() / ((n - 1) * (k - 1)))
    between = float(scores.mean(1).var(ddof=1)) - within / k
    return max(0.0, between), within


def _rows(one: dict[str, Table]) -> list[dict[int, float]]:
    return [row for kind in KINDS[:2] for row in one[kind].values()]


def _moved(one: dict[str, Table]) -> str:
    """Return how often a search ends below the defaults, and how far settings move a loss either way."""
    both = [(_mean(one, "searched", loss), _mean(one, "default", loss)) for loss in one["searched"]]
    changes = [after - before for after, before in both if after is not None and before is not None]
    n_below, size = sum(change < 0 for change in changes), fmean(abs(change) for change in changes)
    return f"the search ends below the defaults for {n_below} of {len(changes)} losses and moves one by {points(size)}"


def _answer(data: str, parts: _Parts, one: dict[str, Table]) -> Answer:
    sentence = (
        f"Settings make {100 * parts.share:.0f} % of the variance, interval [{100 * parts.low:.0f}, "
        f"{100 * parts.high:.0f}] %: standard deviations of {points(parts.settings)} points of MAP@R within a loss and "
        f"{points(parts.loss)} between losses; {_moved(one)} points either way. Settings alone would put the best "
        f"of 25 "
        f"equal losses {points(parts.luck)} points above their median."
    )
    return Answer(data=data, verdict=above(parts, 0.5), sentence=sentence)


def _table(tables: dict[str, dict[str, Table]]) -> str:
    rows = []
    for data, one in tables.items():
        for loss in one["default"]:
            cells = [_mean(one, kind, loss) for kind in KINDS]
            rows.append([f"{SHORT[data]}, {loss}", *("" if cell is None else points(cell) for cell in cells)])
    return table(["loss, test MAP@R", *KINDS], rows)


def _order(one: dict[str, Table], first: str, second: str) -> float:
    shared = [loss for loss in one[first] if loss in one[second]]
    both = [[_mean(one, kind, loss) or 0.0 for loss in shared] for kind in (first, second)]
    return float(stats.spearmanr(*both).statistic)


def _orders(tables: dict[str, dict[str, Table]]) -> str:
    rows = [
        [f"{SHORT[data]}, {first} and {second}", f"{_order(one, first, second):+.2f}"]
        for data, one in tables.items()
        for first, second in combinations(KINDS, 2)
    ]
    return table(["settings", "Spearman's correlation of the losses' order"], rows)


def _dots(one: dict[str, Table]) -> list[Dot]:
    found: list[Dot] = []
    for loss in one["default"]:
        for kind in KINDS:
            row = [100 * value for value in one[kind].get(loss, {}).values()]
            if row:
                found.append((f"{loss}, {kind}", fmean(row), min(row), max(row), row))
    return found
