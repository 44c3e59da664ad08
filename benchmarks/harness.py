"""How every benchmark here is timed and printed.

Times on a shared machine are noise, ratios taken side by side are not: contestants run in turns, and each is judged by
its best turn. A table is what the command printed; nobody types one.
"""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True, kw_only=True)
class Table:
    """One finished table: what was measured, under which conditions, and the rows as printed."""

    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Return the table as GitHub-flavoured Markdown."""
        lines = [f"### {self.title}", "", self.note, "", _row(self.header), _row(["---"] * len(self.header))]
        return "\n".join([*lines, *(_row(row) for row in self.rows), ""])


def best_times(
    contestants: Mapping[str, Callable[[], object]],
    *,
    turns: int = 7,
    at_least: float = 0.02,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Return each contestant's best seconds per call; they take turns, so that a slow moment hits all of them.

    A call shorter than `at_least` seconds is repeated within its turn until it fills that long. With the `clock`
    `time.process_time` they are processor seconds, which a busy machine does not change.
    """
    repeats = {}
    for name, call in contestants.items():
        call()
        begun = clock()
        call()
        repeats[name] = max(1, int(at_least / max(clock() - begun, 1e-7)))
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(turns):
        for name, call in contestants.items():
            gc.collect()
            begun = clock()
            for _ in range(repeats[name]):
                call()
            best[name] = min(best[name], (clock() - begun) / repeats[name])
    return best


def geometric_mean(ratios: Sequence[float]) -> float:
    """Return the geometric mean, the right mean for ratios."""
    return exp(sum(log(ratio) for ratio in ratios) / len(ratios))


def milliseconds(seconds: float) -> str:
    """Return seconds as milliseconds with three significant digits."""
    return f"{seconds * 1e3:.3g}"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
