"""Does `fairground recommend` keep its time and tell the truth? On every data set of a list, from a fresh home.

A try is `fairground recommend DATA --time T`. Its row says how long it took, what it recommends, and what the test
classes say of the frozen network and of what is recommended. Nothing is left out, bad rows neither.

FAIRGROUND_BENCH_DATA lists what to try, "label=path:time" separated by spaces; without it only the embedded icons are
tried. Everything is kept in FAIRGROUND_BENCH_HOME (default: build/bench-recommend): a try that is over is only read.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.harness import Table

HOME = Path(os.environ.get("FAIRGROUND_BENCH_HOME", "build/bench-recommend"))
DATA = os.environ.get("FAIRGROUND_BENCH_DATA", "icons=icons:5m").split()


def tables() -> Iterator[Table]:
    """Yield the table of all tries."""
    rows = [_row(*_entry(entry)) for entry in DATA]
    n_false = sum(row[-1].startswith("disagree") and row[4] != "frozen" for row in rows)
    n_trained = sum(row[4] != "frozen" for row in rows)
    yield Table(
        title="What `fairground recommend` takes within a time, and what the test classes say",
        note="From a fresh home and cache; Recall@1 and MAP@R in per cent on sealed test classes. A method other than "
        f"the frozen network is taken in {n_trained} of {len(rows)} tries. "
        f"{len(rows) - n_false} of {len(rows)} tries take nothing that the test classes show below the frozen network "
        f"beyond noise. The machine's load over 15 minutes was {os.getloadavg()[2]:.0f} on {os.cpu_count()} cores.",
        header=[
            "data",
            "images, classes",
            "time",
            "took",
            "taken",
            "frozen, Recall@1",
            "taken, Recall@1",
            "frozen, MAP@R",
            "taken, MAP@R",
            "the test classes",
        ],
        rows=rows,
    )


def _entry(entry: str) -> tuple[str, str, str]:
    label, _, rest = entry.partition("=")
    path, _, limit = rest.rpartition(":")
    return label, path, limit


def _row(label: str, path: str, limit: str) -> list[str]:
    found = _try(label, path, limit)
    frozen = found["rows"][0][0].removesuffix(" (recommended)")
    test: Mapping[str, Mapping[str, float]] = found["test"]
    agreement = [sentence for sentence in found["advice"] if sentence.startswith("The test classes")]
    word = agreement[0].split(":")[0].removeprefix("The test classes ") if agreement else "nothing to compare"
    return [
        label,
        found["size"],
        limit,
        f"{found['wall']:.0f} s",
        "frozen" if found["is_frozen"] else found["chosen"],
        *(
            f"{100 * test[label][metric]:.2f}"
            for metric in ("recall@1", "map@r")
            for label in (frozen, found["chosen"])
        ),
        word,
    ]


def _try(label: str, path: str, limit: str) -> dict[str, Any]:
    """Return what a try ended with, and how long the command took from its start to its end."""
    kept = HOME / f"{label}.json"
    if kept.is_file():
        return json.loads(kept.read_text())  # type: ignore[no-any-return]
    HOME.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "FAIRGROUND_CACHE": str(HOME / f"{label}-cache")}
    command = [
        sys.executable,
        "-m",
        "fairground",
        "recommend",
        path,
        "--time",
        limit,
        "--home",
        str(HOME / label),
        "--json",
    ]
    begun = time.monotonic()
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout
    found: dict[str, Any] = {**json.loads(output), "wall": time.monotonic() - begun}
    kept.write_text(json.dumps(found))
    print(f"{label}: {found['chosen']} in {found['wall']:.0f} s", file=sys.stderr)
    return found
