"""C14: how much of a loss' place is its tuning? Default, published and searched settings next to each other."""

from collections.abc import Sequence
from statistics import fmean, stdev

from scipy import stats
from studies.results.arithmetic import Mean, mean_of
from studies.results.figures import Dot, dot_rows
from studies.results.page import DATA, SHORT, Answer, Page, Picture, Section, interval, points, table, verdict_of
from studies.results.records import ExportedRun
from studies.results.select import (
    Table,
    by_data,
    finals,
    finals_by_data,
    seeds_in_words,
    split_label,
    untrained_line,
    values,
)

STUDIES = ("c14_features_cub200",)
KINDS = ("default", "published", "searched")
METRIC = "map@r"


def page(runs: Sequence[ExportedRun], searched: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the runs of `STUDIES`, and of C1 for what was searched."""
    found = finals_by_data(runs, DATA)
    tables = {data: _by_kind(values(some, METRIC)) for data, some in found.items()}
    for data in list(tables):
        one = values(finals(by_data(searched, DATA).get(data, [])), METRIC)
        tables[data]["searched"] = {loss: one[loss] for loss in tables[data]["default"] if loss in one}
        if not tables[data]["searched"]:
            del tables[data]
    if not tables:
        return None
    gains = {data: _gain(one) for data, one in tables.items()}
    between = {data: stdev(fmean(row.values()) for row in one["searched"].values()) for data, one in tables.items()}
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
        counts=(
            "it holds (tuning decides more than the loss) if the mean gain of searched over default settings is "
            "larger than the "
            "standard deviation between searched losses, by the lower end of its 95 % interval; it does not hold "
            "if the upper end is "
            "smaller; else cannot tell."
        ),
        short="Points of MAP@R gained by searching over defaults: "
        + ", ".join(
            f"{SHORT[data]} {100 * gains[data].mean:+.2f} (sd between losses {points(between[data])}); "
            f"{_moved(tables[data])}"
            for data in tables
        )
        + ".",
        answers=[_answer(data, gains[data], between[data], _moved(one)) for data, one in tables.items()],
        sections=[
            Section(heading="Every loss three times", text=_table(tables)),
            Section(heading="Do settings change the order?", text=_orders(tables)),
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


def _by_kind(one: Table) -> dict[str, Table]:
    found: dict[str, Table] = {kind: {} for kind in KINDS}
    for label, row in one.items():
        loss, kind = split_label(label)
        found[kind][loss] = row
    return found


def _mean(one: dict[str, Table], kind: str, loss: str) -> float | None:
    row = one[kind].get(loss)
    return None if row is None else fmean(row.values())


def _gain(one: dict[str, Table]) -> Mean:
    pairs = [(_mean(one, "searched", loss), _mean(one, "default", loss)) for loss in one["searched"]]
    return mean_of([after - before for after, before in pairs if after is not None and before is not None])


def _rows(one: dict[str, Table]) -> list[dict[int, float]]:
    return [row for kind in KINDS[:2] for row in one[kind].values()]


def _moved(one: dict[str, Table]) -> str:
    """Return how often a search ends below the defaults, and how far settings move a loss either way."""
    both = [(_mean(one, "searched", loss), _mean(one, "default", loss)) for loss in one["searched"]]
    changes = [after - before for after, before in both if after is not None and before is not None]
    n_below, size = sum(change < 0 for change in changes), fmean(abs(change) for change in changes)
    return f"the search ends below the defaults for {n_below} of {len(changes)} losses and moves one by {points(size)}"


def _answer(data: str, gain: Mean, between: float, moved: str) -> Answer:
    verdict = verdict_of(holds=gain.low > between, fails=gain.high < between)
    sentence = (
        f"Searching gains {100 * gain.mean:+.2f} points of MAP@R over defaults on average, interval "
        f"{interval(gain.low, gain.high)}; "
        f"searched losses have a standard deviation of {points(between)} points; {moved} points either way."
    )
    return Answer(data=data, verdict=verdict, sentence=sentence)


def _table(tables: dict[str, dict[str, Table]]) -> str:
    rows = []
    for data, one in tables.items():
        for loss in one["default"]:
            cells = [_mean(one, kind, loss) for kind in KINDS]
            rows.append([f"{SHORT[data]}, {loss}", *("" if cell is None else points(cell) for cell in cells)])
    return table(["loss, test MAP@R", *KINDS], rows)


def _orders(tables: dict[str, dict[str, Table]]) -> str:
    rows = []
    for data, one in tables.items():
        for kind in KINDS[:2]:
            shared = [loss for loss in one["searched"] if loss in one[kind]]
            both = [[_mean(one, name, loss) or 0.0 for loss in shared] for name in (kind, "searched")]
            rows.append([f"{SHORT[data]}, {kind} and searched", f"{stats.spearmanr(*both).statistic:+.2f}"])
    return table(["settings", "Spearman's correlation of the losses' order"], rows)


def _dots(one: dict[str, Table]) -> list[Dot]:
    found: list[Dot] = []
    for loss in one["default"]:
        for kind in KINDS:
            row = [100 * value for value in one[kind].get(loss, {}).values()]
            if row:
                found.append((f"{loss}, {kind}", fmean(row), min(row), max(row), row))
    return found
