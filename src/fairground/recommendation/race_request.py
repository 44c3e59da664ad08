"""What is asked of a recommendation: data, metric, seed, and the protocol that was chosen for them."""

from collections.abc import Sequence
from dataclasses import dataclass

from fairground.recommendation.protocol_choice import ProtocolChoice
from fairground.spec.measurement_names import declared_metric
from fairground.spec.study import MethodSpec
from fairground.spec.study_load import load_study

#: decides where the metric that was asked for shows no difference
SECOND = "map@r"
ALWAYS = ("recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r")


@dataclass(frozen=True, kw_only=True)
class RaceRequest:
    """What was asked: `base` are the words of the data, the split and the network, the user's own last."""

    title: str
    choice: ProtocolChoice
    base: tuple[str, ...]
    by: str
    seed: int

    @property
    def is_higher(self) -> bool:
        """Tell whether more of the metric that was asked for is better."""
        declared = declared_metric(self.by)
        return True if declared is None else declared.higher_is_better

    @property
    def deciding(self) -> tuple[str, ...]:
        """The metrics that decide, in that order."""
        return tuple(dict.fromkeys((self.by, SECOND)))

    @property
    def metrics(self) -> tuple[str, ...]:
        """All metrics that are measured."""
        return tuple(dict.fromkeys((*ALWAYS, self.by)))

    @property
    def shown(self) -> tuple[str, ...]:
        """The metrics of the table."""
        return tuple(dict.fromkeys(("recall@1", "map@r", self.by)))

    def methods(self) -> Sequence[MethodSpec]:
        """Return the losses that are raced, with their settings."""
        return load_study(self.choice.field).methods
