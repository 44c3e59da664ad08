"""The training doctor: watches a run, and names each problem once with what to do about it.

It only looks: it draws from no generator and touches no weight. All it remembers is in every checkpoint, so a run that
was killed ends with the findings of one that was not. `docs/doctor.md` has the rule of each sign, its docstring why.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from fairground.analysis.collapse import POINT, collapse_of
from fairground.contracts.trunk_head_transform import Batch
from fairground.evaluation import EmbeddingView, analyse, metric_named
from fairground.records import EpochRow, Finding, Listener, SignFound
from fairground.spec import RunSpec, goodness, is_share
from fairground.training.assemble import Assembled

if TYPE_CHECKING:
    from fairground.training.loop import Progress

#: one observation per so many batches, and at these first steps, because what explodes does so at once
EVERY, EARLY = 20, (1, 2, 4)
#: validation embeddings looked at
ROWS = 512
#: stands for infinity, which JSON does not have
LARGEST = 1e300
#: observations kept besides the first, and epoch checks besides that of the untrained model
LATE_KEPT, CHECKUPS_KEPT = 16, 4


@dataclass(kw_only=True)
class Observation:
    """One look at training: the batches since the last look, and the embeddings and gradients of the last of them.

    A batch is idle when it had no tuples, or a loss of exactly 0. `norm` is the mean length of the embeddings,
    `gradient` the length of the network's whole gradient, `spread` the mean squared distance of the unit vectors to
    their mean. `at_one_point` is the loss if all embeddings were the same, computed only while the run stands still.
    """

    n_batches: int = 0
    n_idle: int = 0
    lowest: float = 0.0
    highest: float = 0.0
    step: int = 0
    norm: float = 0.0
    gradient: float = 0.0
    spread: float = 0.0
    at_one_point: float | None = None

    def count(self, loss: float, *, is_idle: bool) -> None:
        self.lowest = min(self.lowest, loss) if self.n_batches else loss
        self.highest = max(self.highest, loss) if self.n_batches else loss
        self.n_batches += 1
        self.n_idle += is_idle

    @property
    def is_still(self) -> bool:
        """Whether embeddings are near each other and losses within 2 % of each other, over more than two batches."""
        is_flat = self.n_batches > 2 and self.highest - self.lowest <= 0.02 * abs(self.highest)
        return is_flat and self.spread < 0.02


@dataclass(frozen=True, kw_only=True)
class EpochCheck:
    """The validation embeddings at the end of an epoch; `n_untouched` of the loss' `n_proxies` had no gradient yet."""

    epoch: int
    collapse: str
    collapse_sentence: str
    dimensions: float
    hubness: float
    largest_hub: float
    n_proxies: int = 0
    n_untouched: int = 0


@dataclass(kw_only=True)
class History:
    """All that signs look at besides the epoch rows."""

    #: the look that has not ended yet
    window: Observation = field(default_factory=Observation)
    first: Observation | None = None
    late: list[Observation] = field(default_factory=list)
    untrained: EpochCheck | None = None
    checkups: list[EpochCheck] = field(default_factory=list)

    def add_observation(self, observation: Observation) -> None:
        self.first = self.first or observation
        self.late = [*self.late[1 - LATE_KEPT :], observation]
        self.window = Observation()

    def add_checkup(self, checkup: EpochCheck) -> None:
        """Keep an epoch check; that of the untrained model stays to compare with."""
        if checkup.epoch == 0:
            self.untrained = checkup
        else:
            self.checkups = [*self.checkups[1 - CHECKUPS_KEPT :], checkup]

    def last_observations(self, n_batches: int) -> list[Observation]:
        """Return the latest observations that cover `n_batches` together; none while there were fewer batches."""
        covering = (self.late[begin:] for begin in reversed(range(len(self.late))))
        return next((some for some in covering if sum(one.n_batches for one in some) >= n_batches), [])


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

    50 batches let a network that starts with all images alike leave that state; few dimensions are fine where so few
    classes can span only twice as many. Mining the hardest negatives is a cause named by Schroff et al., CVPR 2015,
    section 3.2.
    """
    sentence, latest = "", run.history.last_observations(50)
    if latest and all(one.spread < POINT for one in latest) and latest[-1].spread <= latest[0].spread:
        sentence = f"all embeddings of a batch are at one point (spread {latest[-1].spread:.1e})"
    if run.history.checkups and run.step >= 50:
        seen = run.history.checkups[-1]
        is_spanned = seen.collapse in ("line", "few_dimensions") and seen.dimensions >= (run.n_classes - 1) / 2
        sentence = sentence if seen.collapse == "none" or is_spanned else seen.collapse_sentence
    if not sentence:
        return None
    is_hard = run.spec.miner is not None and run.spec.miner.name in ("hardest", "all_hard")
    return Diagnosis(sentence, (_other_miner(run.spec, "semihard") if is_hard else None) or _slower(run.spec))


def stuck_at_margin(run: WatchedRun) -> Diagnosis | None:
    """Stuck at the margin: the loss stays at its value when all embeddings are the same.

    A mean over active triplets may be near the margin in a healthy run too (0.100 to 0.107 on the icons with margin
    0.1), but varies from batch to batch with a spread above 0.07. Remedy: another miner, or smaller steps (Hermans,
    Beyer and Leibe, "In defense of the triplet loss", 2017).
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
    """No active tuples: at least 90 % of the last 50 batches had no tuple, or a loss of exactly 0 before penalties."""
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

    The first observation is from before any step. On the icons no loss at default settings grows fivefold.
    """
    first, late = run.history.first, run.history.late
    if first is None or len(late) < 4:
        return None
    for name, quantity in (("norm", "mean length of the embeddings"), ("gradient", "length of the gradient")):
        before, now = getattr(first, name), [getattr(check, name) for check in late[-3:]]
        if median(now) >= max(100.0 * before, 100.0) and now[-1] >= now[0]:
            sentence = f"the {quantity} grew from {before:.3g} to {now[-1]:.3g} and is still growing"
            norms = " or add regulariser=embedding_norm" if name == "norm" and not run.spec.regulariser else ""
            return Diagnosis(sentence, _slower(run.spec) + norms)
    return None


def dead_proxies(run: WatchedRun) -> Diagnosis | None:
    """Dead proxies: class vectors of the loss that never had a gradient, as if only the nearest of a class learns."""
    if not run.history.checkups:
        return None
    seen, asked = run.history.checkups[-1], run.spec.optimiser
    is_early = seen.epoch < 3 or run.step * run.spec.training.batch_size < 3 * run.n_train
    is_alive = not seen.n_proxies or seen.n_untouched < 0.5 * seen.n_proxies
    if is_early or is_alive or seen.collapse != "none":
        return None
    rate, fewer = asked.lr if asked.loss_lr is None else asked.loss_lr, _setting(run.spec, "n_centres")
    sentence = f"{seen.n_untouched} of {seen.n_proxies} class vectors of the loss never had a gradient"
    return Diagnosis(sentence, f"lower {fewer}" if fewer else f"raise optimiser.loss_lr ({rate:g} now) tenfold")


def overfitting(run: WatchedRun) -> Diagnosis | None:
    """Overfitting: the training loss falls while the validation score worsens.

    Three validations in a row: a score that wanders is not taken for one that falls. The untrained model counts.
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
    start, end = (f"{100 * value:.2f} %" if is_share(metric) else f"{value:.4g}" for value in (top, scores[-1]))
    moved = "fell" if higher_is_better else "rose"
    sentence = f"validation {metric} {moved} from {start} (epoch {best.epoch}) to {end} while the training loss fell"
    if best.epoch == 0:
        return Diagnosis(sentence, f"{_slower(run.spec)}; the model was better before training")
    stop = "" if run.spec.training.patience else "set training.patience=3 (0 now) to stop in time, or "
    decay = run.spec.optimiser.weight_decay
    return Diagnosis(sentence, f"{stop}raise optimiser.weight_decay to {max(10 * decay, 1e-4):g} ({decay:g} now)")


def hubs(run: WatchedRun) -> Diagnosis | None:
    """Hubs: a few validation images have become the neighbours of very many.

    On the icons the skewness (analysis `hubness`) is 1.5 before training and 0.3 to 1.3 after, for every loss at
    default settings; 512 points around one direction of 64 dimensions have 3.5. Hubs grow with the number of dimensions
    (Radovanović, Nanopoulos and Ivanović, JMLR 2010, section 4).
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
    value = spec.loss.settings.get(name)
    shown = f"{value:g}" if isinstance(value, int | float) else value
    return f"loss.{name} ({shown} now)" if name in spec.loss.settings else None


class Doctor:
    """Watches one run. `progress` holds all it remembers."""

    def __init__(self, parts: Assembled, listen: Listener) -> None:
        self._parts, self._listen = parts, listen
        self._n_classes = int(parts.loader.labels.max()) + 1
        self._weights = list(parts.model.parameters())
        ends = (self._n_classes, parts.model.head.embedding_dim)
        per_class = (weight for weight in parts.stepper.loss.parameters() if weight.ndim in (2, 3))
        #: the first learnable tensor of the loss with one or several vectors per class, (C, d) or (C, K, d)
        self._proxies = next((weight for weight in per_class if (weight.shape[0], weight.shape[-1]) == ends), None)

    def after_batch(self, progress: "Progress", batch: Batch, loss: float, embeddings: torch.Tensor) -> None:
        """Look at the batch just trained on, already counted in `progress`."""
        look = progress.history.window
        look.count(loss, is_idle=self._parts.stepper.is_idle())
        if progress.step % EVERY and progress.step not in EARLY:
            return
        look.step = progress.step
        look.norm, look.gradient, look.spread = self._measure(embeddings)
        if look.is_still and self._parts.stepper.loss.accepts:
            look.at_one_point = self._loss_at_one_point(embeddings, batch.labels)
        progress.history.add_observation(look)
        self.look(progress)

    def check_up(self, progress: "Progress", embeddings: torch.Tensor, labels: np.ndarray) -> None:
        """Look at the validation embeddings (n, d) of an epoch, that of the untrained model included."""
        step = -(-len(embeddings) // ROWS)
        some = embeddings[::step].detach()
        seen, found = collapse_of(some), {"hubness": 0.0, "largest_hub": 0.0}
        if len(some) > 2 and seen.kind not in ("not_finite", "zero", "point"):
            view = EmbeddingView(some, labels[::step], normalise=self._parts.on_sphere)
            found = dict(analyse(view, analyses=["hubness"])["hubness"].values)
        checkup = EpochCheck(
            epoch=progress.epoch,
            collapse=seen.kind,
            collapse_sentence=seen.sentence,
            dimensions=seen.effective_dimensions,
            hubness=found["hubness"],
            largest_hub=found["largest_hub"],
            n_proxies=0 if self._proxies is None else self._proxies.numel() // self._proxies.shape[-1],
            n_untouched=self._untouched(),
        )
        progress.history.add_checkup(checkup)

    def look(self, progress: "Progress") -> None:
        """Report the signs that are new, and note them in `progress`."""
        n_train = len(self._parts.split.train)
        run = WatchedRun(self._parts.spec, progress.history, progress.rows, self._n_classes, n_train, progress.step)
        known = {finding.sign for finding in progress.findings}
        for name, sign in SIGNS.items():
            if name not in known and (diagnosis := sign(run)):
                found = Finding(sign=name, epoch=progress.epoch, step=progress.step, **diagnosis._asdict())
                progress.findings.append(found)
                self._listen(SignFound(sign=name, sentence=found.text))

    @torch.no_grad()
    def _measure(self, embeddings: torch.Tensor) -> list[float]:
        """Return length and spread of the embeddings, and between them the length of the gradient."""
        lengths = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
        centre = (embeddings / lengths.clamp_min(1e-12)).mean(0)
        gradients = [weight.grad for weight in self._weights if weight.grad is not None]
        gradient = torch.nn.utils.get_total_norm(gradients) if gradients else lengths.new_zeros(())
        measured = torch.stack([lengths.mean(), gradient.to(lengths), 1 - centre.dot(centre)]).tolist()
        return [value if math.isfinite(value) else LARGEST for value in measured]

    @torch.no_grad()
    def _loss_at_one_point(self, embeddings: torch.Tensor, labels: torch.Tensor) -> float | None:
        """Ask a copy of the loss with its own generator: the run's may not move, and no memory may be filled."""
        loss = copy.deepcopy(self._parts.stepper.loss)
        same = embeddings.mean(0, keepdim=True).expand_as(embeddings).contiguous()
        value = float(loss(same, labels, generator=torch.Generator(embeddings.device).manual_seed(0)))
        return value if math.isfinite(value) else None

    def _untouched(self) -> int:
        """Count vectors whose squared gradients or momentum are exactly 0; weight decay alone would leave a trace."""
        if self._proxies is None:
            return 0
        stepper, asked = self._parts.stepper, self._parts.spec.optimiser
        is_decayed = asked.loss_weight_decay > 0 and asked.name != "adamw"
        memory = stepper.optimiser.state.get(self._proxies, {})
        names = ("exp_avg_sq", "square_avg", "momentum_buffer")
        trace = next((memory[name] for name in names if isinstance(memory.get(name), torch.Tensor)), None)
        return 0 if trace is None or is_decayed else int((trace == 0).all(-1).sum())


def divergence_cause(embeddings: torch.Tensor, number: float) -> str:
    """Say whether the network or the loss is the cause, because that decides the remedy."""
    if not bool(torch.isfinite(embeddings).all()):
        return f"the loss is {number}: the network's output is not finite; the learning rate is probably too high"
    finite = f"although the embeddings are finite (largest norm {float(embeddings.norm(dim=1).max()):.3g})"
    return f"the loss is {number} {finite}: a scale, margin or temperature of the loss is probably too extreme"
