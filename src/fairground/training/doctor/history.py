"""What the training doctor knows of a run, as plain numbers that a checkpoint carries, and what a sign is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairground.records.record import EpochRow
from fairground.spec.run import RunSpec

#: looks kept, besides the first
LATE_KEPT = 16
#: check-ups kept, besides the first
CHECKUPS_KEPT = 4


@dataclass(kw_only=True)
class Window:
    """The batches since the last look. A batch is idle when it had no tuples, or a loss of exactly 0."""

    n_batches: int = 0
    n_idle: int = 0
    lowest: float = 0.0
    highest: float = 0.0

    def count(self, loss: float, *, is_idle: bool) -> None:
        """Take one batch."""
        self.lowest = min(self.lowest, loss) if self.n_batches else loss
        self.highest = max(self.highest, loss) if self.n_batches else loss
        self.n_batches += 1
        self.n_idle += is_idle


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One look at training: the batches of a window, and the embeddings and gradients of its last batch.

    `norm` is the mean length of the embeddings, `gradient` the length of the network's whole gradient, `spread` the
    mean squared distance of the unit vectors to their mean. `at_one_point` is what the loss would be if all
    embeddings were the same; asked only while the run stands still.
    """

    step: int
    n_batches: int
    n_idle: int
    lowest: float
    highest: float
    norm: float
    gradient: float
    spread: float
    at_one_point: float | None = None

    @property
    def is_still(self) -> bool:
        """Whether embeddings are near each other and losses within 2 % of each other; a few batches do not tell."""
        is_flat = self.n_batches > 2 and self.highest - self.lowest <= 0.02 * abs(self.highest)
        return is_flat and self.spread < 0.02


@dataclass(frozen=True, kw_only=True)
class EpochCheck:
    """The validation embeddings at the end of an epoch, and the proxies: classes `n_judged`, of which `n_lost`.

    `n_untouched` of all `n_proxies` rows never had a gradient since training began.
    """

    epoch: int
    collapse: str
    collapse_sentence: str
    dimensions: float
    hubness: float
    largest_hub: float
    n_proxies: int = 0
    n_judged: int = 0
    n_lost: int = 0
    n_untouched: int = 0


@dataclass(kw_only=True)
class History:
    """All that signs look at besides the epoch rows."""

    window: Window = field(default_factory=Window)
    first: Observation | None = None
    late: list[Observation] = field(default_factory=list)
    untrained: EpochCheck | None = None
    checkups: list[EpochCheck] = field(default_factory=list)

    def add_observation(self, observation: Observation) -> None:
        """Keep a look, and begin another window."""
        self.first = self.first or observation
        self.late = [*self.late[1 - LATE_KEPT :], observation]
        self.window = Window()

    def add_checkup(self, checkup: EpochCheck) -> None:
        """Keep a check-up; that of the untrained model stays to compare with."""
        if checkup.epoch == 0:
            self.untrained = checkup
        else:
            self.checkups = [*self.checkups[1 - CHECKUPS_KEPT :], checkup]

    def last_observations(self, n_batches: int) -> list[Observation]:
        """Return the latest looks that cover so many batches together; none while there were fewer batches."""
        found: list[Observation] = []
        for observation in reversed(self.late):
            found.insert(0, observation)
            if sum(one.n_batches for one in found) >= n_batches:
                return found
        return []

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "History":
        """Return what a checkpoint kept as JSON."""
        return cls(
            window=Window(**plain["window"]),
            first=None if plain["first"] is None else Observation(**plain["first"]),
            late=[Observation(**observation) for observation in plain["late"]],
            untrained=None if plain["untrained"] is None else EpochCheck(**plain["untrained"]),
            checkups=[EpochCheck(**checkup) for checkup in plain["checkups"]],
        )


class WatchedRun(NamedTuple):
    """One run as a sign sees it: what was asked, what was measured, and the facts of its data."""

    spec: RunSpec
    history: History
    rows: Sequence[EpochRow]
    n_classes: int
    n_train: int
    step: int


class Diagnosis(NamedTuple):
    """What was seen, in a clause without full stop, and what to change, naming settings of this run."""

    sentence: str
    remedy: str


class Sign(ABC):
    """One illness of training. Pure: the same run gives the same diagnosis, and nothing is remembered here."""

    @abstractmethod
    def check(self, run: WatchedRun) -> Diagnosis | None:
        """Return what is wrong, or None."""


def slower(spec: RunSpec) -> str:
    """Return the advice to take smaller steps, with this run's rates."""
    asked = spec.optimiser
    others = [f"optimiser.{key} ({getattr(asked, key):g} now)" for key in ("head_lr",) if getattr(asked, key)]
    return " and ".join([f"lower optimiser.lr ({asked.lr:g} now)", *others]) + " tenfold"


def other_miner(spec: RunSpec, better: str) -> str | None:
    """Return the advice to mine otherwise, where the run mines in a way known for the illness."""
    return None if spec.miner is None else f"use miner={better} ({spec.miner.name} now)"


def setting(spec: RunSpec, name: str) -> str | None:
    """Return one of the loss' settings with its value now, or None where it has none of the name."""
    if name not in spec.loss.settings:
        return None
    value = spec.loss.settings[name]
    return f"loss.{name} ({value:g} now)" if isinstance(value, int | float) else f"loss.{name} ({value} now)"
