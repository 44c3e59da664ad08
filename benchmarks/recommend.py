"""Does `fairground recommend` hand over a better model than what its user would write by hand, in the same time?

For every folder and time: `fairground recommend FOLDER --time T` from a fresh home, and at the same time on the same
machine the plain loop of `benchmarks.plain_loop`, both scored on the same test classes, beside the frozen network,
within-class whitening and PLDA. Nothing is left out, bad rows neither.

FAIRGROUND_BENCH_DATA lists what to try, "label=path:time" separated by spaces. Everything is kept in
FAIRGROUND_BENCH_HOME (default: build/bench-recommend): a try that is over is only read.
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


def tables() -> Iterator[Table]:
    """Yield the table of all tries, and their means by time."""
    tries = [_try(*_entry(entry)) for entry in DATA]
    yield Table(
        title="`fairground recommend` against what its user would write by hand",
        note="Recall@1 / MAP@R in per cent on the same sealed test classes; both ran at the same time on the same "
        f"machine. The load over 15 minutes was {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores at the end.",
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
    environment = {**os.environ, "FAIRGROUND_CACHE": str(HOME / f"{label}-{limit}-cache")}
    home = str(HOME / f"{label}-{limit}")
    ours = [sys.executable, "-m", "fairground", "recommend", path, "--time", limit, "--home", home, "--json"]
    theirs = [sys.executable, "-m", "benchmarks.plain_loop", path, str(seconds_of(limit))]
    begun = time.monotonic()
    loop = subprocess.Popen(theirs, stdout=subprocess.PIPE, text=True)
    answer = subprocess.run(ours, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    wall = time.monotonic() - begun
    found = {"label": label, "limit": limit, "wall": wall, "recommend": json.loads(answer)}
    found["plain"] = json.loads(loop.communicate()[0])
    kept.write_text(json.dumps(found))
    print(f"{label}, {limit}: {found['recommend']['title']} in {wall:.0f} s", file=sys.stderr)
    return found
