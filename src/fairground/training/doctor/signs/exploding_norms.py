"""Exploding norms: embeddings or gradients grow without bound, on their way to infinity.

Looks at
    The mean length of the embeddings of a batch, and the length of the network's whole gradient, at each look.

Rule
    The median of the last three looks is at least 100 times the first, which is from before any step, and at least
    100; and the last is no smaller than the third from last.

Thresholds
    Ours: on the icons no loss tried at its default settings makes either length grow fivefold over its run.

Remedy
    Smaller steps; for the embeddings also a regulariser on their lengths.
"""

from statistics import median

from fairground.training.doctor.history import Diagnosis, Sign, WatchedRun, slower

GROWTH = 100.0
#: below this length nothing can overflow, however small it was at first
LEAST = 100.0


class ExplodingNormsSign(Sign):
    """What grows a hundredfold and still grows will not stop at a finite number."""

    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return what grows, from where to where."""
        first, late = run.history.first, run.history.late
        if first is None or len(late) < 4:
            return None
        for name, word in (("norm", "mean length of the embeddings"), ("gradient", "length of the gradient")):
            before = getattr(first, name)
            now = [getattr(check, name) for check in late[-3:]]
            if median(now) >= max(GROWTH * before, LEAST) and now[-1] >= now[0]:
                sentence = f"the {word} grew from {before:.3g} to {now[-1]:.3g} and is still growing"
                norms = " or add regulariser=embedding_norm" if name == "norm" and not run.spec.regulariser else ""
                return Diagnosis(sentence, slower(run.spec) + norms)
        return None
