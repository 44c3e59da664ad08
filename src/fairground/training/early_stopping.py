"""Which epoch is kept, and when training stops because the selecting score has not improved for some epochs."""

from fairground.contracts.metric import Metric
from fairground.training.snapshot import Progress


def is_new_best(progress: Progress, score: float, metric: Metric) -> bool:
    """Tell whether a score is better than that of the epoch kept so far; the first of equal scores is kept."""
    return progress.best_score is None or metric.is_better(score, progress.best_score)


def is_out_of_patience(progress: Progress, patience: int) -> bool:
    """Tell whether more than `patience` epochs have ended since the best one; 0 is patience without end."""
    return patience > 0 and progress.best_epoch is not None and progress.epoch - 1 - progress.best_epoch > patience
