"""C24: what choosing the epoch on the test classes adds by the number of looks, and what 128 epochs do to a head."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from scipy import stats
from studies.results.arithmetic import Mean, at_once, over_methods, spearman
from studies.results.claims.c12_selection_on_test import inflation, selected_epoch
from studies.results.figures import line_panels
from studies.results.page import (
    SHORT,
    Answer,
    Page,
    Picture,
    Section,
    above,
    gain_in_words,
    in_parts,
    interval,
    listed,
    panel_size,
    points,
    signed,
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import Table, columns, finals, means, untrained

SETS = ("cub200", "esc50", "flowers102")
STUDIES = tuple(f"c24_looking_{name}" for name in SETS)
RECALL, MAPR = "recall@1", "map@r"
LOOKS = (1, 2, 4, 8, 16, 32, 64, 128)
FEW, MANY = 8, 128
#: a data set with fewer finished losses waits
N_LOSSES = 25
#: verdicts of the page, three per data set
N_VERDICTS = 9
HALF = 0.5
#: the metric that is reported and the one that selects on validation classes
PAIRS = {
    "Recall@1, selected by Recall@1": (RECALL, RECALL),
    "Recall@1, selected by MAP@R": (RECALL, MAPR),
    "MAP@R, selected by MAP@R": (MAPR, MAPR),
}


@dataclass(frozen=True, kw_only=True)
class _Set:
    """One data set: final runs whose test classes were watched for `MANY` epochs."""

    name: str
    runs: Sequence[ExportedRun]

    def by_loss(self, of: Callable[[ExportedRun], float]) -> dict[str, float]:
        """Return the mean over seeds of something of a run, by loss."""
        found: Table = {}
        for run in self.runs:
            found.setdefault(run.method, {})[run.seed] = of(run)
        return means(found)

    def inflated(self, n: int, judged: str = RECALL, by: str = RECALL, *, level: float = 0.95) -> Mean:
        """Return the mean inflation by `n` looks, with its interval over losses."""
        return over_methods(self.runs, lambda run: inflation(run, n, by=by, judged=judged), level=level)

    def growth(self, level: float) -> Mean:
        """Return what the most looks add to what few of them add."""

        def added(run: ExportedRun) -> float:
            return inflation(run, MANY, by=RECALL) - inflation(run, FEW, by=RECALL)

        return over_methods(self.runs, added, level=level)

    @property
    def matters(self) -> float:
        """A tenth of what the best loss gains in Recall@1 over the untrained network."""
        return max(0.0, max(self.selected.values()) - self.start(RECALL)) / 10

    @property
    def common(self) -> tuple[int, float]:
        """Which epoch is the best for all losses together on test classes, and their mean Recall@1 there."""
        found = {epoch: fmean(self.at(epoch, RECALL).values()) for epoch in range(1, MANY + 1)}
        best = max(found, key=lambda epoch: found[epoch])
        return best, found[best]

    @property
    def by_common(self) -> float:
        """What that epoch has over those that validation classes select, on average."""
        return self.common[1] - fmean(self.selected.values())

    @property
    def selected(self) -> dict[str, float]:
        """Each loss' test Recall@1 at the epoch that validation Recall@1 selects."""
        return self.by_loss(lambda run: run.epochs["test", RECALL][selected_epoch(run, MANY, by=RECALL)])

    def start(self, metric: str) -> float:
        """Return what the network scores before training."""
        found = untrained(self.runs, metric)
        assert found is not None
        return found

    def at(self, epoch: int, metric: str = MAPR) -> dict[str, float]:
        """Return each loss' test score at one epoch, nothing selected."""
        return self.by_loss(lambda run: run.epochs["test", metric][epoch])

    def n_below(self, epoch: int, metric: str = MAPR) -> int:
        """Return how many losses are below the untrained network at one epoch."""
        return sum(value < self.start(metric) for value in self.at(epoch, metric).values())

    def share_below(self, level: float) -> Mean:
        """Return the share of losses below the untrained network at the end, with its exact binomial interval."""
        n, k = len(self.at(MANY)), self.n_below(MANY)
        found = stats.binomtest(k, n).proportion_ci(level, method="exact")
        return Mean(mean=k / n, low=float(found.low), high=float(found.high))


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the sets whose losses are all finished."""
    by_set = {name: finals([run for run in runs if run.study.endswith(f"_{name}")]) for name in SETS}
    sets = [_Set(name=name, runs=some) for name, some in by_set.items() if len({r.method for r in some}) == N_LOSSES]
    if not sets:
        return None
    level = at_once(N_VERDICTS)
    used = [run for one in sets for run in one.runs]
    return Page(
        name="c24_looking",
        title="C24. The price of looking",
        question=(
            "How much does choosing the epoch on the test classes add, by the number of epochs looked at, and how many "
            "losses end below the untrained network as training goes on?"
        ),
        source=(
            "Musgrave et al., 2.3: papers look at test accuracy at every checkpoint and report the best. C12 found a "
            "gain that grows from 8 to 32 looks, partly because another metric selected than was reported."
        ),
        fixed="on 18 November 2026, before the runs",
        is_first_edition=False,
        counts=(
            "inflation is the best test Recall@1 of the first n epochs less that of the epoch which validation "
            "Recall@1 selects among them. Selection on test inflates if its mean at 128 looks, with t over losses, is "
            "above a tenth of what the best loss gains over the untrained network; it grows with looking if 128 looks "
            "add more than 8; most losses end below the untrained network if the share of those whose test MAP@R after "
            "128 epochs is below it, nothing selected, is above one half (exact binomial interval over losses). Nine "
            "intervals hold at once at 95 %."
        ),
        short="; ".join(_short(one) for one in sets) + ".",
        headline=_headline(sets),
        answers=[answer for one in sets for answer in _answers(one, level)],
        sections=[
            Section(heading="By the number of looks", text=_by_looks(sets)),
            Section(heading="How much of it is that validation classes stop badly", text=_stopping(sets)),
            Section(heading="As training goes on, nothing selected", text=_on_the_way(sets)),
            Section(heading="Does it change the order?", text=_orders(sets)),
        ],
        pictures=[
            Picture(
                name="c24_looking",
                caption=(
                    "Points that the best of so many test epochs has over the epoch selected on validation classes, "
                    "mean of 25 losses at their defaults."
                ),
                draw=line_panels({one.name: _inflation_lines(one) for one in sets}, "looks", "points", log_x=True),
                size=panel_size(len(sets), height=3.4),
            ),
            Picture(
                name="c24_below",
                caption="Of 25 losses, those below the untrained network after so many epochs, nothing selected.",
                draw=line_panels(
                    {one.name: _below_lines(one) for one in sets}, "epochs", "losses", least_top=N_LOSSES, log_x=True
                ),
                size=panel_size(len(sets), height=3.2),
            ),
        ],
        limits=[
            "Heads on frozen features (of ESC-50, simple ones of sounds), losses at their defaults, one rate for all "
            "epochs: a schedule that ends at a rate of 0 would forget less.",
            *(f"{SHORT[one.name]}: {_seeds(one)}" for one in sets),
            "The replicate is the loss. Losses share batches, validation and test classes, so intervals do not cover "
            "other classes; C20 shows how much these change.",
            "A look is an epoch of 40 batches: more looks are also longer training.",
            *_left_out(by_set),
        ],
        studies=sorted({run.study for run in used}),
        runs=used,
    )


def _seeds(one: _Set) -> str:
    n = len({run.seed for run in one.runs})
    return f"{n} seed{'s' if n > 1 else ''} per loss; {points(one.matters)} points of Recall@1 would matter."


def _left_out(by_set: dict[str, list[ExportedRun]]) -> list[str]:
    missing = [SHORT[name] for name, some in by_set.items() if len({run.method for run in some}) < N_LOSSES]
    return [f"Not all losses are finished, left out: {listed(missing)}."] if missing else []


def _answers(one: _Set, level: float) -> list[Answer]:
    gain, growth, below = one.inflated(MANY, level=level), one.growth(level), one.share_below(level)
    said = (
        (
            "selection on test inflates",
            above(gain, one.matters),
            f"The best of 128 test epochs has {points(gain.mean)} points of Recall@1 more, interval "
            f"{interval(gain.low, gain.high)}; {points(one.matters)} would matter.",
        ),
        (
            "it grows with looking",
            above(growth, 0),
            f"128 looks add {signed(growth.mean)} points to what 8 add, {interval(growth.low, growth.high)}.",
        ),
        (
            "most losses end below the untrained network",
            above(below, HALF),
            f"{one.n_below(MANY)} of {N_LOSSES} after 128 epochs, {100 * below.mean:.0f} % [{100 * below.low:.0f}, "
            f"{100 * below.high:.0f}].",
        ),
    )
    return in_parts(one.name, said)


def _short(one: _Set) -> str:
    return (
        f"{SHORT[one.name]}: the best test epoch has {points(one.inflated(FEW).mean)} points of Recall@1 more than the "
        f"selected one with 8 looks, {points(one.inflated(MANY).mean)} with 128, {points(one.by_common)} of it with "
        f"one epoch for all losses; {one.n_below(MANY)} of {N_LOSSES} losses end below the untrained network"
    )


def _headline(sets: Sequence[_Set]) -> str:
    added = [
        f"{points(one.inflated(FEW).mean)} points of Recall@1 with 8 looks and {points(one.inflated(MANY).mean)} with "
        f"128 ({SHORT[one.name]})"
        for one in sets
    ]
    below = [f"{one.n_below(MANY)} ({SHORT[one.name]})" for one in sets]
    common = [f"{points(one.by_common)} ({SHORT[one.name]})" for one in sets]
    return (
        f"**Choosing the epoch on the test set adds** {listed(added)} over the epoch that validation Recall@1 selects; "
        f"{listed(common)} of it come with one epoch for all losses, which is no luck of a single one. After 128 "
        f"epochs {listed(below)} of {N_LOSSES} losses are below the untrained network in MAP@R; heads on frozen "
        "features, losses at their defaults."
    )


def _by_looks(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        for n in LOOKS[2:]:
            single = sorted(inflation(run, n, by=RECALL) for run in one.runs)
            cells = [gain_in_words(one.inflated(n, *pair)) for pair in PAIRS.values()]
            rows.append([SHORT[one.name], str(n), *cells, points(single[-1])])
    return table(["data", "looks", *PAIRS, "largest of a run, first kind"], rows)


def _stopping(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        (epoch, common), selected = one.common, fmean(one.selected.values())
        first = median(selected_epoch(run, MANY, by=RECALL) for run in one.runs)
        best = selected + one.inflated(MANY).mean
        cells = [points(selected), f"{first:g}", points(common), str(epoch), points(best)]
        rows.append([SHORT[one.name], *cells, f"{100 * (common - selected) / (best - selected):.0f} %"])
    header = ["data", "selected on validation classes", "median epoch", "the best epoch for all losses", "which"]
    header += ["the best epoch of each loss", "share of one epoch for all"]
    note = (
        "Mean Recall@1 of 25 losses; both best epochs are chosen on test classes. What one epoch for all losses has "
        "more is no luck of a single loss: validation classes, a fifth of those that train (on ESC-50 five), stop too "
        "early or too late. The rule of this page does not tell the two apart."
    )
    return f"{table(header, rows)}\n\n{note}"


def _on_the_way(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        for epoch in LOOKS:
            order = spearman(*columns(one.at(FEW), one.at(epoch)))
            cells = [points(fmean(one.at(epoch, metric).values())) for metric in (MAPR, RECALL)]
            cells += [f"{one.n_below(epoch, metric)} of {N_LOSSES}" for metric in (MAPR, RECALL)]
            rows.append([SHORT[one.name], str(epoch), *cells, f"{order:+.2f}"])
        starts = [points(one.start(metric)) for metric in (MAPR, RECALL)]
        rows.append([f"{SHORT[one.name]}, untrained", "0", *starts, "", "", ""])
    header = ["data", "epoch", "mean MAP@R", "mean Recall@1", "below untrained, MAP@R", "below untrained, Recall@1"]
    return table([*header, "rank correlation with the order at epoch 8, MAP@R"], rows)


def _orders(sets: Sequence[_Set]) -> str:
    rows = []
    for one in sets:
        fair = one.selected
        best = one.by_loss(lambda run: max(v for epoch, v in run.epochs["test", RECALL].items() if epoch > 0))
        firsts = [f"{next(iter(found))} {points(next(iter(found.values())))}" for found in (fair, best)]
        rows.append([SHORT[one.name], *firsts, f"{spearman(*columns(fair, best)):+.2f}"])
    header = ["data", "first by validation, Recall@1", "first by test maxima", "rank correlation of both orders"]
    return table(header, rows, n_text=3)


def _inflation_lines(one: _Set) -> list[tuple[str, Sequence[float], Sequence[float]]]:
    return [(name, LOOKS, [100 * one.inflated(n, *pair).mean for n in LOOKS]) for name, pair in PAIRS.items()]


def _below_lines(one: _Set) -> list[tuple[str, Sequence[float], Sequence[float]]]:
    return [
        (name, LOOKS, [one.n_below(n, key) for n in LOOKS]) for name, key in (("MAP@R", MAPR), ("Recall@1", RECALL))
    ]
