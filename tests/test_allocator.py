"""The allocator keeps its memory where it can be told to, and no digit depends on it."""

import json
import os
import platform
import subprocess
import sys

import pytest

COUNT = """
import resource, sys, torch
from fairground.allocator import keep_memory
print(keep_memory(), file=sys.stderr)
total = 0.0
for _ in range(3):
    total += float(torch.ones(1 << 24).cumsum(0).sum())
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    total += float(torch.ones(1 << 24).cumsum(0).sum())
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, total)
"""


def faults_and_total(*, keep: str) -> tuple[int, float, str]:
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, "FAIRGROUND_KEEP_MEMORY": keep},
        capture_output=True,
        text=True,
        check=True,
    )
    faults, total = done.stdout.split()
    return int(faults), float(total), done.stderr.strip()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep memory")
def test_pages_are_used_again_and_no_digit_moves() -> None:
    kept, same, told = faults_and_total(keep="1")
    fresh, total, not_told = faults_and_total(keep="0")
    assert (told, not_told) == ("True", "False")
    assert same == total
    # 64 MiB are 16,384 pages, or 32 where the system gives huge ones.
    assert kept < fresh / 4


GROWTH = """
import json, sys, tempfile
from pathlib import Path
from fairground.allocator import keep_memory
from fairground.training.run import run
from tests.training.tiny import tiny
def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024
assert keep_memory()
found = []
with tempfile.TemporaryDirectory() as home:
    for seed in range(int(sys.argv[1])):
        # Sizes that differ from run to run are what breaks a heap into pieces.
        run(tiny(f"seed={seed}", f"training.batch_size={16 + 4 * (seed % 3)}"), home=Path(home))
        found.append(held())
print(json.dumps(found))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep memory")
def test_memory_does_not_grow_over_many_runs_in_one_process() -> None:
    words = [sys.executable, "-c", GROWTH, "16"]
    done = subprocess.run(words, env={**os.environ, "FAIRGROUND_KEEP_MEMORY": "1"}, capture_output=True, check=True)
    megabytes = json.loads(done.stdout.splitlines()[-1])
    # The first runs load code and kernels.
    assert max(megabytes[4:]) - megabytes[3] < 8, megabytes
