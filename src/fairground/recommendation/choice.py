"""Which method is recommended: by how much one has to be better than a simpler one.

Formula
    d_c(a, b) = rank of method a - rank of method b on validation class c, over the folds that both were measured on
    a replaces b if mean(d) > k sqrt((sd(d)^2 + s^2) / n), n classes, k = 1/2 and s = 0, because what costs more is
    worth more as a rule, and is trained longer and on more classes in the end than where it is judged.
    With fewer than 12 classes to learn from, s = 0.05, because a few classes that agree by chance prove nothing, and
    k = 3 for networks, which learn these classes and often forget what tells others apart.
    Methods challenge in this order: frozen, closed forms, heads, networks; within each the best by rank.
"""

from collections.abc import Iterable

import numpy as np

from fairground.recommendation.methods import Method
from fairground.recommendation.recommendation_folder import Measurements
from fairground.recommendation.request import Request
from fairground.recommendation.sealed_classes_and_folds import ClassFolds
from fairground.spec import Trains

#: what methods train, the simplest first
KINDS: tuple[Trains, ...] = ("nothing", "head", "network")
#: standard errors by which a method has to be better than a simpler one, and where a network learns from few classes
ENOUGH_ERRORS, ENOUGH_WHERE_FEW = 0.5, 3.0
FEW_CLASSES = 12
#: deviation of a difference between classes, on top of the measured one, where there are few
DEVIATION = 0.05


class Choice:
    """The choice among the methods `entered` so far, by label, the frozen network first."""

    request: Request
    folds: ClassFolds
    known: Measurements
    entered: dict[str, Method]

    def rank(self, method: Method, folds: Iterable[int] | None = None) -> float:
        """Return what methods are ranked by on some folds, all it was measured on by default."""
        which = self.known.folds(method.label) if folds is None else list(folds)
        values = [self.known.by_class(method.label, metric, which) for metric in self.request.deciding]
        return float(np.mean([list(one.values()) for one in values])) if which else float("-inf")

    def difference(self, a: Method, b: Method, deviation: float = 0.0) -> tuple[float, float]:
        """Return the mean of a - b over validation classes, and its standard error; infinite for one class.

        `deviation` is added to the measured one.
        """
        folds = sorted({*self.known.folds(a.label)} & {*self.known.folds(b.label)})
        found = []
        for metric in self.request.deciding:
            of_a, of_b = (self.known.by_class(one.label, metric, folds) for one in (a, b))
            found.append([of_a[label] - of_b[label] for label in of_a])
        values = np.mean(found, axis=0)
        n = len(values)
        if n == 1:
            return 0.0, float("inf")
        return float(values.mean()), float(np.hypot(values.std(ddof=1), deviation) / np.sqrt(n))

    def best(self, kind: str) -> Method | None:
        """Return the best method of a kind; of those on several folds, where there are any."""
        some = [one for one in self.entered.values() if one.trains == kind and self.known.folds(one.label)]
        return max(some, key=lambda one: (len(self.known.folds(one.label)), self.rank(one)), default=None)

    def best_of_each(self) -> list[Method]:
        """Return the best method of each kind that was measured, the simplest first."""
        return [found for kind in KINDS if (found := self.best(kind))]

    def replaces(self, a: Method, b: Method) -> bool:
        """Tell whether a is better than b, which is simpler, by enough."""
        is_few = len(self.folds.classes) < FEW_CLASSES
        mean, error = self.difference(a, b, DEVIATION if is_few else 0.0)
        return mean > (ENOUGH_WHERE_FEW if is_few and a.trains == "network" else ENOUGH_ERRORS) * error

    def _is_about_as_good(self, a: Method, b: Method) -> bool:
        mean, error = self.difference(b, a)
        return mean <= ENOUGH_ERRORS * error

    def chosen(self) -> Method:
        """Return what replaced everything simpler; of a training the longest form that is about as good.

        It will be trained on more classes, and searched among more, so a discriminant is preferred too.
        """
        found = next(iter(self.entered.values()))
        for challenger in self.best_of_each():
            if self.replaces(challenger, found):
                found = challenger
        if found.trains != "network":
            return found
        folds = self.known.folds(found.label)
        same = (one for one in self.entered.values() if (one.training, one.trains) == (found.training, found.trains))
        close = [one for one in same if self.known.folds(one.label) == folds and self._is_about_as_good(one, found)]
        return max([found, *close], key=lambda one: (one.steps, bool(one.head), -one.published))
