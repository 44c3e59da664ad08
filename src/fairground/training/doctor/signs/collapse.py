"""Collapse: the embeddings no longer tell images apart.

Looks at
    The validation embeddings of a trained epoch, and the spread of the batch at each look.

Rule
    After 50 batches or more the validation embeddings are at one point, along one line or in few dimensions
    (`functional/spectral.py`); or the spread of the batch was below 0.001 at each look over 50 batches, and does not
    grow. Few dimensions are no illness where they are half of those that so few classes can span.

Thresholds
    Those of `functional/spectral.py`; 50 batches, so that a network that begins with all images alike may leave that.

Remedy
    Another miner where the hardest negatives are mined (Schroff et al., CVPR 2015, section 3.2, name that as a cause),
    smaller steps otherwise.
"""

from fairground.functional.spectral import POINT
from fairground.training.doctor.history import Diagnosis, Sign, WatchedRun, other_miner, slower

N_BATCHES = 50
#: miners that choose the hardest negatives
HARD = ("hardest", "all_hard")


class CollapseSign(Sign):
    """Everything near one point, one line, or in few dimensions."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return which collapse it is."""
        sentence = _at_validation(run) or _in_batches(run)
        if sentence is None:
            return None
        spec = run.spec
        is_hard = spec.miner is not None and spec.miner.name in HARD
        return Diagnosis(sentence, (other_miner(spec, "semihard") if is_hard else None) or slower(spec))


def _at_validation(run: WatchedRun) -> str | None:
    if not run.history.checkups or run.step < N_BATCHES:
        return None
    seen = run.history.checkups[-1]
    is_spanned = seen.collapse in ("line", "few_dimensions") and seen.dimensions >= (run.n_classes - 1) / 2
    return None if seen.collapse == "none" or is_spanned else seen.collapse_sentence


def _in_batches(run: WatchedRun) -> str | None:
    latest = run.history.last_observations(N_BATCHES)
    if not latest or any(check.spread >= POINT for check in latest) or latest[-1].spread > latest[0].spread:
        return None
    return f"all embeddings of a batch lie at one point (spread {latest[-1].spread:.1e})"
