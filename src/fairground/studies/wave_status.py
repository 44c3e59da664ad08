"""Where the methods of one data set stand in a study in waves: who has how many seeds, and who gets more."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from fairground.comparison.sequential import Wave


@dataclass(frozen=True, kw_only=True)
class WaveStatus:
    """`given` counts the seeds each method was given, `seeds` those done; `in_question` get more, or would."""

    given: Mapping[str, int]
    seeds: Mapping[str, int]
    in_question: tuple[str, ...]
    n_looks: int
    state: Literal["running", "settled", "limit"]
    limit: int

    @classmethod
    def from_wave(cls, wave: Wave, done: Mapping[str, Collection[int]]) -> "WaveStatus":
        """Return the status; `done` are the seeds of each method's finished runs."""
        return cls(
            given={method: len(seeds) for method, seeds in wave.given.items()},
            seeds={method: sum(seed in done.get(method, ()) for seed in given) for method, given in wave.given.items()},
            in_question=wave.in_question,
            n_looks=wave.n_looks,
            state=wave.state,
            limit=wave.plan.limit,
        )

    @property
    def sentence(self) -> str:
        """Who got how many seeds, and who gets more."""
        listed = ", ".join(f"{method} {n}" for method, n in self.seeds.items())
        looks = f"{self.n_looks} look{'' if self.n_looks == 1 else 's'}"
        if self.state == "settled":
            return f"settled after {looks}; seeds: {listed}"
        names = ", ".join(self.in_question)
        if self.state == "limit":
            return f"the limit of {self.limit} seeds is reached after {looks}; seeds: {listed}; still open: {names}"
        return f"{looks} so far; seeds: {listed}; more seeds follow for {names}"
