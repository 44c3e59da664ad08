"""Overfitting: the training loss falls while the validation score worsens.

Looks at
    The epoch rows: the mean training loss, and the score that selects.

Rule
    The last three validated epochs all score at least 5 % worse than the best one, which came before them (the
    untrained model counts), none of the three is better than the one before, and the training loss fell by at least
    10 % since.

Thresholds
    Ours: three in a row and none of them rising, so that a score that wanders is not taken for one that falls.

Remedy
    Stopping by patience, or more regularisation; smaller steps where the untrained model is the best.
"""

from fairground.evaluation.metric_names import metric_named
from fairground.records.record import EpochRow
from fairground.spec.measurement_names import declared_metric, goodness
from fairground.training.doctor.history import Diagnosis, Sign, WatchedRun, slower

N_EPOCHS = 3
SCORE_DROP = 0.95
LOSS_DROP = 0.9


class OverfittingSign(Sign):
    """The model learns its training classes by heart."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return since when."""
        metric = run.spec.evaluation.select_by
        judged = [row for row in run.rows if metric in row.validation]
        late, before = judged[-N_EPOCHS:], judged[:-N_EPOCHS]
        if not before:
            return None
        higher_is_better = metric_named(metric).higher_is_better
        best = max(before, key=lambda row: goodness(row.validation[metric], higher_is_better))
        scores = [row.validation[metric] for row in late]
        is_worsening = scores == sorted(scores, reverse=higher_is_better)
        if (
            not is_worsening
            or not _is_far_worse(scores[0], best.validation[metric], higher_is_better)
            or not _fell(run, best, late[-1])
        ):
            return None
        moved = "fell" if higher_is_better else "rose"
        sentence = (
            f"validation {metric} {moved} from {_shown(metric, best.validation[metric])} (epoch {best.epoch}) to "
            f"{_shown(metric, scores[-1])} while the training loss fell"
        )
        return Diagnosis(sentence, _remedy(run, best))


def _is_far_worse(score: float, best: float, higher_is_better: bool) -> bool:
    return score <= SCORE_DROP * best if higher_is_better else best < score and best <= SCORE_DROP * score


def _fell(run: WatchedRun, best: EpochRow, now: EpochRow) -> bool:
    """The untrained model has no training loss: that of the first epoch stands for it."""
    first = next((row.loss for row in run.rows if row.loss is not None), None)
    then = first if best.loss is None else best.loss
    return then is not None and now.loss is not None and now.loss <= LOSS_DROP * then


def _shown(metric: str, value: float) -> str:
    declared = declared_metric(metric)
    return f"{100 * value:.2f} %" if declared is not None and declared.is_share else f"{value:.4g}"


def _remedy(run: WatchedRun, best: EpochRow) -> str:
    spec = run.spec
    if best.epoch == 0:
        return f"{slower(spec)}; the model was better before training"
    stop = "" if spec.training.patience else f"set training.patience={N_EPOCHS} (0 now) to stop in time, or "
    decay = max(10 * spec.optimiser.weight_decay, 1e-4)
    return f"{stop}raise optimiser.weight_decay to {decay:g} ({spec.optimiser.weight_decay:g} now)"
