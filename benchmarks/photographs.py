"""Do README's lines end above the frozen network? The protocol `photographs` on folders it was not made on.

A row is the mean over seeds of `fairground train --protocol photographs data.root=FOLDER ...` with the words of README,
beside the same network untrained (`training.epochs=0 head=identity`). Nothing is tuned here.

FAIRGROUND_BENCH_PHOTOGRAPHS lists the folders, "label=path" separated by spaces; without it nothing is run. Runs are
kept in FAIRGROUND_BENCH_HOME (default: build/bench-photographs): those that are done are only read.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, stdev

from benchmarks.harness import Table

HOME = Path(os.environ.get("FAIRGROUND_BENCH_HOME", "build/bench-photographs"))
FOLDERS = os.environ.get("FAIRGROUND_BENCH_PHOTOGRAPHS", "").split()
SEEDS = range(int(os.environ.get("FAIRGROUND_BENCH_SEEDS", "3")))
#: what each row adds to the protocol; the last two are the lines of README
LINES = {
    "frozen network": ("training.epochs=0", "head=identity"),
    "frozen, discriminant": ("training.epochs=0",),
    "multi_similarity": ("loss=multi_similarity",),
    "proxy_anchor": ("loss=proxy_anchor", "optimiser.loss_lr=0.01"),
}
COLUMNS = tuple((metric, split) for metric in ("recall@1", "map@r") for split in ("validation", "test"))

Scores = dict[tuple[str, str], float]


def tables() -> Iterator[Table]:
    """Yield the table of all folders."""
    if not FOLDERS:
        print("left out: FAIRGROUND_BENCH_PHOTOGRAPHS is not set", file=sys.stderr)
        return
    rows = []
    for entry in FOLDERS:
        label, _, path = entry.partition("=")
        rows += [_row(label, name, [_scores(path, words, seed) for seed in SEEDS]) for name, words in LINES.items()]
    yield Table(
        title="README's lines on photographs, against the frozen network",
        note="Per cent, mean over seeds ± their standard deviation; seeds also draw nothing of the split, so that the "
        "frozen rows do not vary. Selection is by validation MAP@R; test classes are seen by no choice.",
        header=["data", "method", "Recall@1, validation", "Recall@1, test", "MAP@R, validation", "MAP@R, test"],
        rows=rows,
    )


def _row(label: str, name: str, found: Sequence[Scores]) -> list[str]:
    cells = []
    for column in COLUMNS:
        values = [100 * scores[column] for scores in found]
        spread = f" ± {stdev(values):.2f}" if len(values) > 1 and stdev(values) > 0 else ""
        cells.append(f"{fmean(values):.2f}{spread}")
    return [label, name, *cells]


def _scores(path: str, words: Sequence[str], seed: int) -> Scores:
    """Return what one run measured on both splits."""
    seed = 0 if "training.epochs=0" in words else seed
    command = [sys.executable, "-m", "fairground", "train", "--protocol", "photographs", f"data.root={path}", *words]
    command += [f"seed={seed}", "--home", str(HOME), "--threads", "1", "--json", "--quiet"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {(one["metric"], one["split"]): one["value"] for one in json.loads(output)["scores"]}
