"""No active tuples: most batches give the loss nothing to learn from.

Looks at
    How many tuples the miner gave for each batch, and whether the loss was exactly 0, its regulariser left out.

Rule
    At least 90 % of the last 50 batches had no tuple or a loss of 0.

Thresholds
    Ours: a run with every tenth batch at work needs ten times as long; 50 batches are no accident of a few.

Remedy
    A wider margin, or a miner that finds tuples in every batch.
"""

from fairground.training.doctor.history import Diagnosis, Sign, WatchedRun, other_miner, setting

N_BATCHES = 50
SHARE = 0.9
#: settings that make more tuples active when raised
WIDER = ("margin", "negative_margin", "upper", "epsilon")


class NoActiveTuplesSign(Sign):
    """Steps are taken, and nothing is learned."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return how many batches were idle."""
        latest = run.history.last_observations(N_BATCHES)
        n_batches, n_idle = sum(check.n_batches for check in latest), sum(check.n_idle for check in latest)
        if not latest or n_idle < SHARE * n_batches:
            return None
        spec = run.spec
        what = "every tuple satisfies the loss" if spec.miner is None else "the miner finds no tuples, or none costs"
        widths = [setting(spec, name) for name in WIDER]
        wider = next((f"raise {width}" for width in widths if width), None)
        better = "distance_weighted" if spec.miner is None or spec.miner.name != "distance_weighted" else "hardest"
        remedies = [other_miner(spec, better), wider]
        remedy = " or ".join(filter(None, remedies)) or "stop here: there is nothing left to learn (training.epochs)"
        return Diagnosis(f"{n_idle} of the last {n_batches} batches gave nothing to learn from: {what}", remedy)
