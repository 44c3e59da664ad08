"""The signs of a training that went wrong: what each looks at, its rule, its thresholds, and the remedy.

A sign is a pure function of what was asked and measured, plain numbers that a checkpoint carries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple

from fairground.evaluation.metric_scores import metric_named
from fairground.functional.spectral import POINT
from fairground.records.record import EpochRow
from fairground.spec.measurement_names import declared_metric, goodness
from fairground.spec.run import RunSpec

#: observations kept, besides the first
LATE_KEPT = 16
#: epoch checks kept, besides that of the untrained model
CHECKUPS_KEPT = 4


@dataclass(kw_only=True)
class Window:
    """The batches since the last observation. A batch is idle when it had no tuples, or a loss of exactly 0."""

    n_batches: int = 0
    n_idle: int = 0
    lowest: float = 0.0
    highest: float = 0.0

    def count(self, loss: float, *, is_idle: bool) -> None:
        self.lowest = min(self.lowest, loss) if self.n_batches else loss
        self.highest = max(self.highest, loss) if self.n_batches else loss
        self.n_batches += 1
        self.n_idle += is_idle


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One look at training: the batches of a window, and the embeddings and gradients of its last batch.

    `norm` is the mean length of the embeddings, `gradient` the length of the network's whole gradient, `spread` the
    mean squared distance of the unit vectors to their mean. `at_one_point` is the loss if all embeddings were the same,
    computed only while the run stands still.
    """

    step: int
    n_batches: int
    n_idle: int
    lowest: float
    highest: float
    norm: float
    gradient: float
    spread: float
    at_one_point: float | None = None

    @property
    def is_still(self) -> bool:
        """Whether embeddings are near each other and losses within 2 % of each other, over more than two batches."""
        is_flat = self.n_batches > 2 and self.highest - self.lowest <= 0.02 * abs(self.highest)
        return is_flat and self.spread < 0.02


@dataclass(frozen=True, kw_only=True)
class EpochCheck:
    """The validation embeddings at the end of an epoch, and the class vectors of the loss.

    `n_lost` of the `n_judged` classes have vectors no nearer to their own images than to others; `n_untouched` of all
    `n_proxies` vectors never had a gradient.
    """

    epoch: int
    collapse: str
    collapse_sentence: str
    dimensions: float
    hubness: float
    largest_hub: float
    n_proxies: int = 0
    n_judged: int = 0
    n_lost: int = 0
    n_untouched: int = 0


@dataclass(kw_only=True)
class History:
    """All that signs look at besides the epoch rows."""

    window: Window = field(default_factory=Window)
    first: Observation | None = None
    late: list[Observation] = field(default_factory=list)
    untrained: EpochCheck | None = None
    checkups: list[EpochCheck] = field(default_factory=list)

    def add_observation(self, observation: Observation) -> None:
        """Keep an observation, and begin another window."""
        self.first = self.first or observation
        self.late = [*self.late[1 - LATE_KEPT :], observation]
        self.window = Window()

    def add_checkup(self, checkup: EpochCheck) -> None:
        """Keep an epoch check; that of the untrained model stays to compare with."""
        if checkup.epoch == 0:
            self.untrained = checkup
        else:
            self.checkups = [*self.checkups[1 - CHECKUPS_KEPT :], checkup]

    def last_observations(self, n_batches: int) -> list[Observation]:
        """Return the latest observations that cover `n_batches` together; none while there were fewer batches."""
        found: list[Observation] = []
        for observation in reversed(self.late):
            found.insert(0, observation)
            if sum(one.n_batches for one in found) >= n_batches:
                return found
        return []

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "History":
        """Return what a checkpoint kept as JSON."""
        return cls(
            window=Window(**plain["window"]),
            first=None if plain["first"] is None else Observation(**plain["first"]),
            late=[Observation(**observation) for observation in plain["late"]],
            untrained=None if plain["untrained"] is None else EpochCheck(**plain["untrained"]),
            checkups=[EpochCheck(**checkup) for checkup in plain["checkups"]],
        )


class WatchedRun(NamedTuple):
    """One run as a sign sees it."""

    spec: RunSpec
    history: History
    rows: Sequence[EpochRow]
    n_classes: int
    n_train: int
    step: int


class Diagnosis(NamedTuple):
    """What was seen, in a clause without full stop, and what to change, naming settings of this run."""

    sentence: str
    remedy: str


def collapse(run: WatchedRun) -> Diagnosis | None:
    """Collapse: the embeddings no longer tell images apart.

    After 50 batches the validation embeddings are at one point, along one line or in few dimensions (thresholds in
    `functional/spectral.py`; few dimensions are fine where so few classes can span only twice as many); or the spread
    of the batch was below 0.001 in each observation over 50 batches and does not grow. 50 batches let a network that
    starts with all images alike leave that state.
    Remedy: another miner where the hardest negatives are mined (a cause named by Schroff et al., CVPR 2015, section
    3.2), smaller steps otherwise.
    """
    sentence = None
    if run.history.checkups and run.step >= 50:
        seen = run.history.checkups[-1]
        is_spanned = seen.collapse in ("line", "few_dimensions") and seen.dimensions >= (run.n_classes - 1) / 2
        sentence = None if seen.collapse == "none" or is_spanned else seen.collapse_sentence
    latest = run.history.last_observations(50)
    is_point = latest and all(one.spread < POINT for one in latest) and latest[-1].spread <= latest[0].spread
    if sentence is None and is_point:
        sentence = f"all embeddings of a batch lie at one point (spread {latest[-1].spread:.1e})"
    if sentence is None:
        return None
    is_hard = run.spec.miner is not None and run.spec.miner.name in ("hardest", "all_hard")
    return Diagnosis(sentence, (_other_miner(run.spec, "semihard") if is_hard else None) or _slower(run.spec))


def stuck_at_margin(run: WatchedRun) -> Diagnosis | None:
    """Stuck at the margin: the loss stays at its value when all embeddings are the same.

    Over 100 batches the losses of every window are within 2 % of each other and of that value (the margin, for a
    triplet loss), with a spread of the batch below 0.02. A mean over active triplets may be near the margin in a
    healthy run too (0.100 to 0.107 on the icons with margin 0.1), but varies from batch to batch with a spread above
    0.07. Remedy: another miner, or smaller steps (Hermans, Beyer and Leibe, "In defense of the triplet loss", 2017).
    """

    def is_stuck(check: Observation) -> bool:
        value = check.at_one_point
        return check.is_still and value is not None and value > 0 and abs(check.highest - value) <= 0.02 * value

    latest = run.history.last_observations(100)
    if not latest or not all(is_stuck(check) for check in latest):
        return None
    margin = _setting(run.spec, "margin")
    where = "" if margin is None else f", which {margin} decides"
    sentence = (
        f"the loss has stood at {latest[-1].highest:.4g} for 100 batches, its value when all embeddings are the "
        f"same{where}: positives are no nearer than negatives"
    )
    better = _other_miner(run.spec, "distance_weighted", otherwise="semihard")
    return Diagnosis(sentence, " or ".join(filter(None, [better, _slower(run.spec)])))


def no_active_tuples(run: WatchedRun) -> Diagnosis | None:
    """No active tuples: at least 90 % of the last 50 batches had no tuple, or a loss of exactly 0 before penalties.

    Remedy: a wider margin, or a miner that finds tuples in every batch.
    """
    latest = run.history.last_observations(50)
    n_batches, n_idle = sum(check.n_batches for check in latest), sum(check.n_idle for check in latest)
    if not latest or n_idle < 0.9 * n_batches:
        return None
    spec = run.spec
    what = "every tuple satisfies the loss" if spec.miner is None else "the miner finds no tuples, or none costs"
    widths = [_setting(spec, name) for name in ("margin", "negative_margin", "upper", "epsilon")]
    wider = next((f"raise {width}" for width in widths if width), None)
    remedies = [_other_miner(spec, "distance_weighted", otherwise="hardest"), wider]
    remedy = " or ".join(filter(None, remedies)) or "stop here: there is nothing left to learn (training.epochs)"
    return Diagnosis(f"{n_idle} of the last {n_batches} batches gave nothing to learn from: {what}", remedy)


def exploding_norms(run: WatchedRun) -> Diagnosis | None:
    """Exploding norms: the embeddings' mean length or the gradient's length grows without bound.

    The median of the last three observations is at least 100 and at least 100 times the first, which is from before any
    step, and the last is not smaller than the third from last. On the icons no loss at default settings grows fivefold.
    Remedy: smaller steps; for the embeddings also a regulariser on their lengths.
    """
    first, late = run.history.first, run.history.late
    if first is None or len(late) < 4:
        return None
    for name, quantity in (("norm", "mean length of the embeddings"), ("gradient", "length of the gradient")):
        before = getattr(first, name)
        now = [getattr(check, name) for check in late[-3:]]
        if median(now) >= max(100.0 * before, 100.0) and now[-1] >= now[0]:
            sentence = f"the {quantity} grew from {before:.3g} to {now[-1]:.3g} and is still growing"
            norms = " or add regulariser=embedding_norm" if name == "norm" and not run.spec.regulariser else ""
            return Diagnosis(sentence, _slower(run.spec) + norms)
    return None


def dead_proxies(run: WatchedRun) -> Diagnosis | None:
    """Dead proxies: class vectors of the loss that do not know their own images, or never had a gradient.

    From the third epoch and three passes over the training images on, unless the embeddings have collapsed: the vectors
    of at least a third of the classes judged, five or more, are no nearer to their own images than to others (of
    vectors that learned nothing half would be, by chance); or at least half of all vectors never had a gradient (where
    a class has several vectors and only the nearest learns, some never do).
    Remedy: another rate for the class vectors, or fewer of them.
    """
    if not run.history.checkups:
        return None
    seen, asked = run.history.checkups[-1], run.spec.optimiser
    is_early = seen.epoch < 3 or run.step * run.spec.training.batch_size < 3 * run.n_train
    if is_early or not seen.n_proxies or seen.collapse != "none":
        return None
    rate = asked.lr if asked.loss_lr is None else asked.loss_lr
    # Class vectors that take steps of 0.1 overshoot.
    other = f"{'lower' if rate >= 0.1 else 'raise'} optimiser.loss_lr ({rate:g} now) tenfold"
    if seen.n_untouched >= 0.5 * seen.n_proxies:
        sentence = f"{seen.n_untouched} of {seen.n_proxies} class vectors of the loss never had a gradient"
        fewer = _setting(run.spec, "n_centres")
        return Diagnosis(sentence, f"lower {fewer}" if fewer else other)
    if seen.n_judged >= 5 and seen.n_lost >= seen.n_judged / 3:
        count = f"{seen.n_lost} of {seen.n_judged}"
        return Diagnosis(f"the vectors of {count} classes are no nearer to their own images than to others", other)
    return None


def overfitting(run: WatchedRun) -> Diagnosis | None:
    """Overfitting: the training loss falls while the validation score worsens.

    The last three validated epochs all score at least 5 % worse than the best one before them (the untrained model
    counts), none of the three is better than the one before, and the training loss fell by at least 10 % since. Three
    in a row, so that a score that wanders is not taken for one that falls.
    Remedy: stopping by patience, or more regularisation; smaller steps where the untrained model is the best.
    """
    metric = run.spec.evaluation.select_by
    judged = [row for row in run.rows if metric in row.validation]
    late, before = judged[-3:], judged[:-3]
    if not before:
        return None
    higher_is_better = metric_named(metric).higher_is_better
    best = max(before, key=lambda row: goodness(row.validation[metric], higher_is_better))
    top, scores = best.validation[metric], [row.validation[metric] for row in late]
    is_worsening = scores == sorted(scores, reverse=higher_is_better)
    is_far_worse = scores[0] <= 0.95 * top if higher_is_better else top < scores[0] and top <= 0.95 * scores[0]
    # The untrained model has no training loss: that of the first epoch stands for it.
    first_loss = next((row.loss for row in run.rows if row.loss is not None), None)
    then, now = first_loss if best.loss is None else best.loss, late[-1].loss
    if not is_worsening or not is_far_worse or then is None or now is None or now > 0.9 * then:
        return None
    declared = declared_metric(metric)
    is_share = declared is not None and declared.is_share
    start, end = (f"{100 * value:.2f} %" if is_share else f"{value:.4g}" for value in (top, scores[-1]))
    moved = "fell" if higher_is_better else "rose"
    sentence = f"validation {metric} {moved} from {start} (epoch {best.epoch}) to {end} while the training loss fell"
    if best.epoch == 0:
        return Diagnosis(sentence, f"{_slower(run.spec)}; the model was better before training")
    stop = "" if run.spec.training.patience else "set training.patience=3 (0 now) to stop in time, or "
    decay = run.spec.optimiser.weight_decay
    return Diagnosis(sentence, f"{stop}raise optimiser.weight_decay to {max(10 * decay, 1e-4):g} ({decay:g} now)")


def hubs(run: WatchedRun) -> Diagnosis | None:
    """Hubs: a few validation images have become the neighbours of very many.

    The skewness of how often an image is among the 10 nearest of others (analysis `hubness`, of up to 512 validation
    embeddings) is above 2 and at least 1.5 times that of the untrained model, in two epoch checks in a row. On the
    icons it is 1.5 before training and 0.3 to 1.3 after, for every loss at default settings; 512 points around one
    direction of 64 dimensions have 3.5.
    Remedy: fewer dimensions, as hubs grow with their number (Radovanović, Nanopoulos and Ivanović, JMLR 2010, section
    4), or smaller steps.
    """
    late, untrained = run.history.checkups[-2:], run.history.untrained
    before = 0.0 if untrained is None else untrained.hubness
    if len(late) < 2 or any(checkup.hubness <= max(2.0, 1.5 * before) for checkup in late):
        return None
    sentence = (
        f"a few validation images are neighbours of very many (hubness {late[-1].hubness:.1f}, {before:.1f} before "
        f"training; the largest hub is named {late[-1].largest_hub:.0f} times as often as the mean)"
    )
    width = run.spec.head.settings.get("embedding_dim")
    fewer = f"lower head.embedding_dim ({width} now) or " if width else ""
    return Diagnosis(sentence, f"{fewer}{_slower(run.spec)}")


SIGNS: Mapping[str, Callable[[WatchedRun], Diagnosis | None]] = {
    sign.__name__: sign
    for sign in (collapse, stuck_at_margin, no_active_tuples, exploding_norms, dead_proxies, overfitting, hubs)
}


def _slower(spec: RunSpec) -> str:
    asked = spec.optimiser
    head = f" and optimiser.head_lr ({asked.head_lr:g} now)" if asked.head_lr else ""
    return f"lower optimiser.lr ({asked.lr:g} now){head} tenfold"


def _other_miner(spec: RunSpec, better: str, *, otherwise: str = "") -> str | None:
    """Advise a better miner, or the `otherwise` one where the run uses the better one already; None without a miner."""
    if spec.miner is None:
        return None
    return f"use miner={otherwise if otherwise and spec.miner.name == better else better} ({spec.miner.name} now)"


def _setting(spec: RunSpec, name: str) -> str | None:
    """Return one of the loss' settings with its value now, or None where it has none of the name."""
    if name not in spec.loss.settings:
        return None
    value = spec.loss.settings[name]
    return f"loss.{name} ({value:g} now)" if isinstance(value, int | float) else f"loss.{name} ({value} now)"
