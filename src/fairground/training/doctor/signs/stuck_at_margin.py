"""Stuck at margin: the loss stays at what it costs when all embeddings are the same.

Looks at
    The losses of each window, and the value of the same loss for a batch whose embeddings are all alike: the margin,
    for a triplet loss. That value is asked of a copy of the loss, only while the loss stands still.

Rule
    Over 100 batches the losses of every window lie within 2 % of each other and within 2 % of that value, and the
    spread of the batch is below 0.02 at each look.

Thresholds
    Ours. A mean over active triplets may lie near the margin in good health too (0.100 to 0.107 on the icons, margin
    0.1), but varies from batch to batch, with a spread above 0.07; 100 batches leave a fresh network time.

Remedy
    Another miner where one is used, smaller steps otherwise. Hermans, Beyer and Leibe, "In defense of the triplet
    loss", 2017, describe the state and the way out of it.
"""

from fairground.training.doctor.history import Diagnosis, Observation, Sign, WatchedRun, other_miner, setting, slower

N_BATCHES = 100
NEAR = 0.02


class StuckAtMarginSign(Sign):
    """Positives are no nearer than negatives, and no step changes that."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return where the loss is stuck."""
        latest = run.history.last_observations(N_BATCHES)
        if not latest or not all(_is_stuck(check) for check in latest):
            return None
        spec, last = run.spec, latest[-1]
        margin = setting(spec, "margin")
        where = "" if margin is None else f", which {margin} decides"
        sentence = (
            f"the loss has stood at {last.highest:.4g} for {N_BATCHES} batches, its value when all embeddings are the "
            f"same{where}: positives are no nearer than negatives"
        )
        better = "distance_weighted" if spec.miner is None or spec.miner.name != "distance_weighted" else "semihard"
        return Diagnosis(sentence, " or ".join(filter(None, [other_miner(spec, better), slower(spec)])))


def _is_stuck(check: Observation) -> bool:
    value = check.at_one_point
    return check.is_still and value is not None and value > 0 and abs(check.highest - value) <= NEAR * value
