"""Does `fairground recommend` hand over a better model than what its user would write by hand, in the same time?

For every folder and time: `fairground recommend FOLDER --time T` from a fresh home, and at the same time on the same
machine the plain loop of `benchmarks.plain_loop`, each with half of the cores, both scored on the same test classes,
beside the frozen network, within-class whitening and PLDA. Nothing is left out, bad rows neither.

FAIRGROUND_BENCH_DATA lists what to try, "label=path:time" separated by spaces; `benchmarks.recommend_folders` lays
folders out. Everything is kept in FAIRGROUND_BENCH_HOME (default: build/bench-recommend): a try that is over is only
read. With FAIRGROUND_BENCH_CLOCK=cpu the time of both is processor time of one core, as on a machine that does nothing
else; on a busy machine that is the only time that is the same for both.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Table
from fairground.commands.options import seconds_of

HOME = Path(os.environ.get("FAIRGROUND_BENCH_HOME", "build/bench-recommend"))
DATA = os.environ.get("FAIRGROUND_BENCH_DATA", "").split()
OPPONENTS = ("frozen", "whitened", "PLDA", "plain loop")
METRICS = ("recall@1", "map@r")
IS_PROCESSOR_TIME = os.environ.get("FAIRGROUND_BENCH_CLOCK") == "cpu"
#: the command line, whose clock is that of the processor where it is asked for
OURS = "import runpy, time; {}runpy.run_module('fairground', run_name='__main__')".format(
    "time.monotonic = time.process_time; " if IS_PROCESSOR_TIME else ""
)


def tables() -> Iterator[Table]:
    """Yield the table of all tries, and their means by time."""
    tries = [_try(*_entry(entry)) for entry in DATA]
    yield Table(
        title="`fairground recommend` against what its user would write by hand",
        note="Recall@1 / MAP@R in per cent on the same sealed test classes; `recommend` and the plain loop had half of "
        f"the cores each{', and their time is processor time' if IS_PROCESSOR_TIME else ''}. The load over 15 minutes "
        f"was {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores at the end.",
        header=[
            "folder",
            "images, classes",
            "time",
            *OPPONENTS,
            "steps",
            "`recommend`",
            "steps",
            "took",
            "handed over",
        ],
        rows=[_row(found) for found in tries],
    )
    limits = list(dict.fromkeys(found["limit"] for found in tries))
    yield Table(
        title="Means over folders",
        note="Gain of the handed-over model over each opponent in points, Recall@1 / MAP@R, mean ± standard error.",
        header=["time", "folders", *OPPONENTS],
        rows=[_means(limit, [found for found in tries if found["limit"] == limit]) for limit in limits],
    )


def _entry(entry: str) -> tuple[str, str, str]:
    label, _, rest = entry.partition("=")
    path, _, limit = rest.rpartition(":")
    return label, path, limit


def _row(found: dict[str, Any]) -> list[str]:
    ours, theirs = found["recommend"], found["plain"]
    return [
        found["label"],
        ours["size"],
        found["limit"],
        *(_cell(theirs[name]) for name in OPPONENTS),
        str(theirs["steps"]),
        f"**{_cell(_handed_over(found))}**",
        str(ours["steps"]),
        f"{found['wall']:.0f} s",
        ours["title"],
    ]


def _handed_over(found: dict[str, Any]) -> dict[str, float]:
    scores: dict[str, float] = found["recommend"]["test"][found["recommend"]["chosen"]]
    return scores


def _cell(scores: dict[str, float]) -> str:
    return " / ".join(f"{100 * scores[metric]:.1f}" for metric in METRICS)


def _means(limit: str, tries: list[dict[str, Any]]) -> list[str]:
    cells = []
    for name in OPPONENTS:
        parts = []
        for metric in METRICS:
            gains = np.array([100 * (_handed_over(one)[metric] - one["plain"][name][metric]) for one in tries])
            error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else float("nan")
            parts.append(f"{gains.mean():+.1f} ± {error:.1f}")
        cells.append(" / ".join(parts))
    return [limit, str(len(tries)), *cells]


def _try(label: str, path: str, limit: str) -> dict[str, Any]:
    """Return what both ended with, and how long the command took from its start to its end."""
    kept = HOME / f"{label}-{limit}.json"
    if kept.is_file():
        return json.loads(kept.read_text())  # type: ignore[no-any-return]
    HOME.mkdir(parents=True, exist_ok=True)
    closed = HOME / f"{label}-closed.json"
    if not closed.is_file():
        closed.write_text(subprocess.check_output([sys.executable, "-m", "benchmarks.plain_loop", path], text=True))
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    environment = {**os.environ, "OMP_NUM_THREADS": str(half), "FAIRGROUND_CACHE": str(HOME / f"{label}-{limit}-cache")}
    home = str(HOME / f"{label}-{limit}")
    ours = ["-c", OURS, "recommend", path, "--time", limit, "--home", home, "--json"]
    theirs = ["-m", "benchmarks.plain_loop", path, str(seconds_of(limit))]
    begun = time.monotonic()
    loop, answer = (
        subprocess.Popen(
            ["taskset", "-c", ",".join(map(str, some)), sys.executable, *words],
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for words, some in ((theirs, cores[half:]), (ours, cores[:half]))
    )
    result = json.loads(answer.communicate()[0])
    wall = result["seconds"] if IS_PROCESSOR_TIME else time.monotonic() - begun
    found = {"label": label, "limit": limit, "wall": wall, "recommend": result}
    found["plain"] = json.loads(loop.communicate()[0]) | json.loads(closed.read_text())
    kept.write_text(json.dumps(found))
    print(f"{label}, {limit}: {found['recommend']['title']} in {wall:.0f} s", file=sys.stderr)
    return found
