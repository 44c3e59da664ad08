"""Dead proxies: class vectors of the loss that do not know their own images, or never had a gradient.

Looks at
    At the end of an epoch: the mean cosine of each class vector with images of its class and with all others, over the
    looks since the class was last judged, for classes of which at least 8 images were seen; and the optimiser's memory,
    which is 0 where there never was a gradient.

Rule
    From the third epoch and three passes over the training images on, unless the embeddings have collapsed: the vectors
    of at least a third of the classes judged, five or more, are no nearer to their own images than to others; or at
    least half of all vectors never had a gradient.

Thresholds
    Ours: of vectors that learned nothing half would be lost, by chance. Where a loss has several vectors a class and
    lets the nearest alone learn, some never do, so half of them must be untouched.

Remedy
    Another rate for the class vectors, larger unless it is large; where they never had a gradient, fewer of them.
"""

from fairground.training.doctor.history import Diagnosis, Sign, WatchedRun, setting

LOST = 1 / 3
LEAST_JUDGED = 5
UNTOUCHED = 0.5
LEAST_EPOCH = 3
LEAST_PASSES = 3
#: class vectors that take such steps overshoot
LARGE_RATE = 0.1


class DeadProxiesSign(Sign):
    """Class vectors that take no part in training."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return how many there are."""
        if not run.history.checkups:
            return None
        seen, asked = run.history.checkups[-1], run.spec.optimiser
        n_images = run.step * run.spec.training.batch_size
        is_early = seen.epoch < LEAST_EPOCH or n_images < LEAST_PASSES * run.n_train
        if is_early or not seen.n_proxies or seen.collapse != "none":
            return None
        rate = asked.lr if asked.loss_lr is None else asked.loss_lr
        other = f"{'lower' if rate >= LARGE_RATE else 'raise'} optimiser.loss_lr ({rate:g} now) tenfold"
        if seen.n_untouched >= UNTOUCHED * seen.n_proxies:
            sentence = f"{seen.n_untouched} of {seen.n_proxies} class vectors of the loss never had a gradient"
            fewer = setting(run.spec, "n_centres")
            return Diagnosis(sentence, f"lower {fewer}" if fewer else other)
        if seen.n_judged >= LEAST_JUDGED and seen.n_lost >= LOST * seen.n_judged:
            count = f"{seen.n_lost} of {seen.n_judged}"
            sentence = f"the vectors of {count} classes are no nearer to their own images than to others"
            return Diagnosis(sentence, other)
        return None
