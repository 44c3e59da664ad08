"""C23: how many of the losses published since 2020 keep their gain under equal search, and over what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats
from studies.results.arithmetic import Mean, at_once
from studies.results.figures import Dot, dot_rows
from studies.results.page import (
    Answer,
    Page,
    Picture,
    Section,
    Verdict,
    effect_of,
    gain_in_words,
    listed,
    points,
    signed,
    table,
)
from studies.results.records import ExportedRun
from studies.results.select import UNTRAINED, values

#: homes of all files, by split
SPLITS = ("standard", "1", "2", "3")
FILES = ("c23_since2020", "c23_newest", "c23_distilled")
STUDIES = tuple(f"{file}_cub200_{split}" for file in FILES for split in SPLITS)
METRIC = "map@r"
#: the references, losses of 2006 to 2019; all others are newer
OLDER = ("Contrastive", "Margin (D)", "N. Softmax", "ArcFace", "MS")
OLDEST = OLDER[0]
#: splits from which on a difference has an error
LEAST_SPLITS = 2


@dataclass(frozen=True, kw_only=True)
class _Compared:
    """Scores (losses, splits), those of the untrained network by split, and the reference among the older losses."""

    losses: Sequence[str]
    scores: np.ndarray
    untrained: np.ndarray
    best_older: str

    @property
    def newer(self) -> list[str]:
        return [loss for loss in self.losses if loss not in OLDER]

    @property
    def matters(self) -> float:
        """A tenth of what the best loss gains over the untrained network."""
        return float((self.scores - self.untrained).mean(axis=1).max()) / 10

    def row(self, loss: str) -> np.ndarray:
        return np.asarray(self.scores[self.losses.index(loss)])

    def gain(self, loss: str, over: str) -> Mean:
        """Return what a loss gains over a reference, its interval by the pooled residual of losses x splits."""
        n_losses, n_splits = self.scores.shape
        freedom = (n_losses - 1) * (n_splits - 1)
        residual = self.scores - self.scores.mean(axis=1, keepdims=True) - self.scores.mean(axis=0)
        variance = ((residual + self.scores.mean()) ** 2).sum() / freedom
        # The untrained network is not searched: its score has no error of its own.
        is_untrained = over in UNTRAINED
        reference = self.untrained if is_untrained else self.row(over)
        mean = float((self.row(loss) - reference).mean())
        quantile = stats.t.ppf((1 + at_once(len(self.newer))) / 2, freedom)
        width = float(quantile) * sqrt(variance * (1 if is_untrained else 2) / n_splits)
        return Mean(mean=mean, low=mean - width, high=mean + width)

    def verdicts(self, over: str) -> dict[str, Verdict]:
        return {loss: effect_of(self.gain(loss, over), self.matters) for loss in self.newer}


def page(runs: Sequence[ExportedRun]) -> Page | None:
    """Return the page of the splits on which all losses of a file are finished."""
    found = _compared(runs)
    if found is None:
        return None
    references = {UNTRAINED[0]: "the untrained network", OLDEST: f"{OLDEST} (2006)"}
    references[found.best_older] = f"{found.best_older}, the best of five older losses on validation classes"
    kept = {over: _counted(found, over) for over in references}
    return Page(
        name="c23_since2020",
        title="C23. Do losses published since 2020 keep their gain?",
        question="How many of the losses published since 2020 keep their gain under equal search, and over what?",
        source="Each of them was published with a gain over the losses before it.",
        fixed="on 18 November 2026, before the runs",
        is_first_edition=False,
        counts=(
            "a loss keeps its gain over a reference if the interval of its mean difference in test MAP@R over splits, "
            "each with a search of its own, is above 0; there is no difference if it is within a tenth of what the "
            "best loss gains over the untrained network. Intervals of all newer losses against one reference hold at "
            "once at 95 %."
        ),
        short=(
            f"Of {len(found.newer)} losses since 2020, {kept[UNTRAINED[0]]} keep a gain over the untrained network, "
            f"{kept[OLDEST]} over Contrastive (2006), {kept[found.best_older]} over {found.best_older}."
        ),
        headline=_headline(found, kept),
        answers=[_answer(found, over, name) for over, name in references.items()],
        sections=[Section(heading="Every loss", text=_table(found, list(references)))],
        pictures=[
            Picture(
                name="c23_since2020",
                caption=(
                    f"Gain in test MAP@R over {found.best_older}, points: mean over splits with the interval that "
                    "holds for all newer losses at once, single splits as dots."
                ),
                draw=dot_rows({"cub200": _dots(found)}, {"cub200": 0.0}, f"MAP@R over {found.best_older}, points"),
                size=(6.4, 0.6 + 0.24 * len(found.losses)),
            )
        ],
        limits=[
            "The intervals pool the scatter of all rows, which is larger for the losses that score low: for those near "
            "the top they are too wide, and *cannot tell* says less than it could.",
            "Heads of 128 dimensions on 512 principal axes of frozen features; the axes are of the first 100 classes, "
            "which random splits test in part. Gains were published for fine-tuned networks, with larger batches and, "
            "for losses of faces, with millions of classes.",
            "4 trials per loss and split: the defaults and three Sobol points; one seed per split. Over the untrained "
            "network, intervals cover searches, not how much more training gains on one split than on another.",
            "All train for 320 steps from the principal axes. Losses with a weight per class learn it from nothing in "
            "that time, which may be why most of them are low here; ROADMAP without calibration is SupAP.",
            "Self-distillation (S2SD) distils the loss of the row Margin (D) from two wider branches (512 and 1,024), "
            "not the paper's four; its rule was written when the other rows were known.",
            "That one worse loss refutes a sentence about all losses was decided after these results were seen; the "
            "counts were fixed before.",
            *_unfinished(runs),
            "Losses were published with other references than these three; what is asked is whether one would choose "
            "them today.",
        ],
        studies=sorted({run.study for run in runs}),
        runs=runs,
    )


def _headline(found: _Compared, kept: Mapping[str, int]) -> str:
    """Return the finding: what is shown over the best older loss, and what is not."""
    best, n_newer = found.best_older, len(found.newer)
    verdicts = list(found.verdicts(best).values())
    n_kept, n_worse = kept[best], verdicts.count("the opposite holds")
    n_below = list(found.verdicts(OLDEST).values()).count("the opposite holds")
    largest = max(found.gain(loss, best).high for loss in found.newer)
    full = {"MS": "multi-similarity (MS)"}.get(best, best)
    return (
        f"**Of {n_newer} losses published since 2020, {n_kept or 'none'} {'is' if n_kept < 2 else 'are'} shown to "
        f"beat {full}, an older one, under equal search.** {n_worse} are worse, {n_newer - n_kept - n_worse} "
        f"undecided: no interval goes beyond {points(largest)} points more, and {_nearest(found, best)} comes closest; "
        f"{kept[OLDEST]} beat Contrastive of 2006, {n_below} lose to it (CUB, {found.scores.shape[1]} splits)."
    )


def _nearest(found: _Compared, best: str) -> str:
    """Return the newer loss with the largest gain over the best older one, with its interval."""
    loss = max(found.newer, key=lambda one: found.gain(one, best).mean)
    gain = found.gain(loss, best)
    return f"{loss} ({signed(gain.mean)} [{points(gain.low)}, {points(gain.high)}])"


def _unfinished(runs: Sequence[ExportedRun]) -> list[str]:
    done = {run.study for run in runs if run.is_final}
    missing = [f"`{study}`" for study in STUDIES if study not in done]
    return [f"Not run yet, or not finished: {listed(missing)}."] if missing else []


def _compared(runs: Sequence[ExportedRun]) -> _Compared | None:
    by_split = {split: [run for run in runs if run.study.endswith(f"_{split}")] for split in SPLITS}
    finals = {split: values([run for run in some if run.is_final], METRIC) for split, some in by_split.items()}
    finals = {split: one for split, one in finals.items() if {*OLDER, UNTRAINED[0]} <= one.keys()}
    if len(finals) < LEAST_SPLITS:
        return None
    losses = [name for name in next(iter(finals.values())) if all(name in one for one in finals.values())]
    trained = [name for name in losses if name not in UNTRAINED]

    def score(name: str, split: str) -> float:
        return float(np.mean(list(finals[split][name].values())))

    return _Compared(
        losses=trained,
        scores=np.array([[score(name, split) for split in finals] for name in trained]),
        untrained=np.array([score(UNTRAINED[0], split) for split in finals]),
        best_older=_best_on_validation([run for split in finals for run in by_split[split]]),
    )


def _best_on_validation(runs: Sequence[ExportedRun]) -> str:
    """Return the older loss whose best trial is highest on validation classes, on average over splits."""
    best: dict[tuple[str, str], float] = {}
    for run in runs:
        if run.kind == "trial" and run.method in OLDER and ("validation", METRIC) in run.scores:
            key = run.method, run.study
            best[key] = max(best.get(key, 0.0), run.scores["validation", METRIC])
    average = {loss: np.mean([value for (name, _), value in best.items() if name == loss]) for loss in OLDER}
    return max(OLDER, key=lambda loss: average[loss])


def _counted(found: _Compared, over: str) -> int:
    return sum(verdict == "holds" for verdict in found.verdicts(over).values())


def _answer(found: _Compared, over: str, name: str) -> Answer:
    verdicts = list(found.verdicts(over).values())
    n_kept, n_open = verdicts.count("holds"), verdicts.count("cannot tell")
    # One loss that is worse or makes no difference is enough to refute a sentence about all.
    is_refuted = n_kept + n_open < len(verdicts)
    verdict: Verdict = "holds" if n_kept == len(verdicts) else "does not hold" if is_refuted else "cannot tell"
    largest = max(found.gain(loss, over).high for loss in found.newer)
    return Answer(
        data=f"all newer losses keep a gain over {name}",
        verdict=verdict,
        sentence=(
            f"{n_kept} of {len(verdicts)} keep it, {n_open} cannot be told, {verdicts.count('no difference')} make no "
            f"difference and {verdicts.count('the opposite holds')} are worse; no interval goes beyond "
            f"{points(largest)} points."
        ),
    )


def _table(found: _Compared, references: Sequence[str]) -> str:
    order = sorted(found.losses, key=lambda loss: -found.row(loss).mean())
    rows = []
    for loss in order:
        cells = [gain_in_words(found.gain(loss, over)) if loss != over else "" for over in references]
        rows.append([loss, "to 2019" if loss in OLDER else "since 2020", points(found.row(loss).mean()), *cells])
    header = ["loss", "published", "MAP@R", *(f"over {_named(over)}" for over in references)]
    return table(header, rows, n_text=2)


def _named(over: str) -> str:
    return "the untrained network" if over in UNTRAINED else over


def _dots(found: _Compared) -> list[Dot]:
    dots: list[Dot] = []
    for loss in sorted(found.losses, key=lambda loss: -found.row(loss).mean()):
        if loss != found.best_older:
            gain, single = found.gain(loss, found.best_older), found.row(loss) - found.row(found.best_older)
            dots.append((loss, 100 * gain.mean, 100 * gain.low, 100 * gain.high, list(100 * single)))
    return dots
