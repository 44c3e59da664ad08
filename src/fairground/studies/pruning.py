"""Which trials of a search are stopped early."""

from collections.abc import Sequence
from statistics import median

from fairground.spec import goodness
from fairground.studies import Trial

#: so many finished trials make a median worth trusting
LEAST_FINISHED = 3


def is_hopeless(trial: Trial, earlier: Sequence[Trial]) -> bool:
    """Tell whether a trial is worse than the median of finished trials on each of the folds it has run."""
    done = [other for other in earlier if other.state == "done"]
    if trial.state != "asked" or len(done) < LEAST_FINISHED:
        return False
    medians = {fold: median(other.folds[fold] for other in done) for fold in trial.folds}
    gaps = (score - medians[fold] for fold, score in trial.folds.items())
    return all(goodness(gap, trial.higher_is_better) < 0 for gap in gaps)
