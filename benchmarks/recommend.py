"""Does `fairground recommend` hand over a better model than what its user would write by hand, in the same time?

For every folder and time: `fairground recommend FOLDER --time T` from a fresh home, and at the same time on the same
machine the plain loop of `benchmarks.plain_loop`, each with half of the cores, both scored on the same test classes,
beside the frozen network, within-class whitening and PLDA. Nothing is left out, bad rows neither.

FAIRGROUND_BENCH_DATA lists what to try, "label=path:time" separated by spaces; `benchmarks.recommend_folders` lays
folders out. Each part of a try is kept in FAIRGROUND_BENCH_HOME (default: build/bench-recommend): what is over is only
read. Rows that are on the page already stay there, unless the same folder was tried in the same time again: a table of
hours can be made in parts. All cells of a row are from one run. With FAIRGROUND_BENCH_CLOCK=cpu the time of both is
processor time of one core, as on a machine that does nothing else; on a busy machine that is the only time that is the
same for both.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Table
from fairground.recommendation.time_budget import seconds_of

HOME = Path(os.environ.get("FAIRGROUND_BENCH_HOME", "build/bench-recommend"))
DATA = os.environ.get("FAIRGROUND_BENCH_DATA", "").split()
OPPONENTS = ("frozen", "whitened", "PLDA", "plain loop")
METRICS = ("recall@1", "map@r")
HEADER = ["folder", "images, classes", "time", *OPPONENTS, "steps", "`recommend`", "steps", "took", "handed over"]
HEADER += ["Recall@1 less the best of the four", "MAP@R less the best of the four"]
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
IS_PROCESSOR_TIME = os.environ.get("FAIRGROUND_BENCH_CLOCK") == "cpu"
#: the command line, whose clock is that of the processor where it is asked for
OURS = "import runpy, time; {}runpy.run_module('fairground', run_name='__main__')".format(
    "time.monotonic = time.process_time; " if IS_PROCESSOR_TIME else ""
)


def tables() -> Iterator[Table]:
    """Yield the table of all tries, those on the page and those of this run, and their means by time."""
    tries = [_row(_try(*_entry(entry))) for entry in DATA]
    # A row is known by its folder and its time.
    rows = sorted({(row[0], row[2]): row for row in [*rows_on(PAGE), *tries]}.values(), key=_order)
    yield Table(
        title="`fairground recommend` against what its user would write by hand",
        note="Recall@1 / MAP@R in per cent on the same sealed test classes; `recommend` and the plain loop had half of "
        "the cores each. A time with an asterisk is processor time. In brackets: 95 % intervals "
        "over test classes; the best of the four is the best on that test, which favours the opponents.",
        header=HEADER,
        rows=rows,
    )
    yield Table(
        title="Means over folders",
        note="Gain of the handed-over model over each opponent in points, Recall@1 / MAP@R, mean ± standard error.",
        header=["time", "folders", *OPPONENTS],
        rows=[
            _means(limit, [row for row in rows if row[2] == limit]) for limit in dict.fromkeys(row[2] for row in rows)
        ],
    )


def rows_on(page: Path) -> list[list[str]]:
    """Return the rows of the table on a page, as they are printed there."""
    section = page.read_text(encoding="utf-8").partition("<!-- begin recommend -->")[2]
    cells = [line.strip("| ").split(" | ") for line in section.partition("<!-- end")[0].splitlines()]
    return [row for row in cells if len(row) == len(HEADER) and re.match(r"\d", row[1])]


def _order(row: list[str]) -> tuple[float, str]:
    return seconds_of(row[2].rstrip("*")), row[0]


def _entry(entry: str) -> tuple[str, str, str]:
    label, _, rest = entry.partition("=")
    path, _, limit = rest.rpartition(":")
    return label, path, limit


def _row(found: dict[str, Any]) -> list[str]:
    ours, theirs = found["recommend"], found["plain"]
    return [
        found["label"],
        ours["size"],
        found["limit"] + ("*" if IS_PROCESSOR_TIME else ""),
        *(_cell(theirs[name]) for name in OPPONENTS),
        str(theirs["steps"]),
        f"**{_cell(found['judged'])}**",
        str(ours["steps"]),
        f"{ours['seconds']:.0f} s",
        ours["title"],
        *(_difference(found["judged"], theirs, metric) for metric in METRICS),
    ]


def _cell(scores: dict[str, float]) -> str:
    return " / ".join(f"{100 * scores[metric]:.1f}" for metric in METRICS)


def _difference(ours: dict[str, Any], theirs: dict[str, Any], metric: str) -> str:
    """Return the difference from the opponent that is best on the test, with a 95 % bootstrap over test classes."""
    best = max(OPPONENTS, key=lambda name: theirs[name][metric])
    place = 1 + METRICS.index(metric)
    sums = np.array([[of[place], other[place], of[0]] for of, other in _by_class(ours, theirs[best])])
    drawn = sums[np.random.default_rng(0).integers(len(sums), size=(10_000, len(sums)))].sum(1)
    low, high = np.quantile((drawn[:, 0] - drawn[:, 1]) / drawn[:, 2], (0.025, 0.975))
    here = (sums[:, 0] - sums[:, 1]).sum() / sums[:, 2].sum()
    return f"{100 * here:+.1f} [{100 * low:.1f}, {100 * high:.1f}] ({best})"


def _by_class(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[tuple[list[float], list[float]]]:
    return ((values, theirs["by_class"][label]) for label, values in ours["by_class"].items())


def _means(limit: str, rows: list[list[str]]) -> list[str]:
    ours = np.array([_numbers(row[HEADER.index("`recommend`")]) for row in rows])
    cells = []
    for name in OPPONENTS:
        gains = ours - [_numbers(row[HEADER.index(name)]) for row in rows]
        errors = [""] * len(METRICS)
        if len(rows) > 1:
            errors = [f" ± {error:.1f}" for error in gains.std(axis=0, ddof=1) / np.sqrt(len(rows))]
        cells.append(" / ".join(f"{mean:+.1f}{error}" for mean, error in zip(gains.mean(0), errors, strict=True)))
    return [limit, str(len(rows)), *cells]


def _numbers(cell: str) -> list[float]:
    return [float(part) for part in cell.strip("*").split(" / ")]


def _try(label: str, path: str, limit: str) -> dict[str, Any]:
    """Return what both ended with; each part is kept."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    home = HOME / f"{label}-{limit}"
    environment = {**os.environ, "OMP_NUM_THREADS": str(half), "FAIRGROUND_CACHE": f"{home}-cache"}

    def begun(name: str, some: list[int], *words: str) -> Callable[[], dict[str, Any]]:
        kept, begin = HOME / f"{name}.json", time.monotonic()
        if kept.is_file():
            return lambda: json.loads(kept.read_text())
        pinned = ["taskset", "-c", ",".join(map(str, some)), sys.executable, *words]
        process = subprocess.Popen(pinned, stdout=subprocess.PIPE, text=True, env=environment)

        def ended() -> dict[str, Any]:
            found = json.loads(process.communicate()[0])
            if not IS_PROCESSOR_TIME:  # from its start to its end
                found["seconds"] = time.monotonic() - begin
            kept.write_text(json.dumps(found))
            return found

        return ended

    HOME.mkdir(parents=True, exist_ok=True)
    loop = ("-m", "benchmarks.plain_loop", path)
    ours = ("-c", OURS, "recommend", path, "--time", limit, "--home", str(home), "--json")
    closed = begun(f"{label}-closed", cores, *loop)()
    plain = begun(f"{label}-{limit}-plain", cores[half:], *loop, str(seconds_of(limit)))
    found = begun(f"{label}-{limit}-recommend", cores[:half], *ours)()
    print(f"{label}, {limit}: {found['title']}", file=sys.stderr)
    judged = begun(f"{label}-{limit}-judged", cores, "-m", "benchmarks.plain_loop", path, "--model", found["model"])()
    return {"label": label, "limit": limit, "recommend": found, "plain": plain() | closed, "judged": judged}
