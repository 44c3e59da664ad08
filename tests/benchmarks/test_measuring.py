"""What the benchmark of metrics measures with."""

import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.contestants import SIZES, synthetic
from benchmarks.measuring import PeakMemory, in_turns


def test_contestants_take_turns_and_the_best_time_counts():
    calls = []
    times = in_turns({"a": lambda: calls.append("a"), "b": lambda: (calls.append("b"), time.sleep(0.01))}, turns=3)
    assert calls == ["a", "b"] * 3
    assert times["a"] < 0.01 <= times["b"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say what a process holds")
def test_the_peak_is_seen():
    with PeakMemory() as peak:
        held = np.ones(16_000_000)  # so large that the allocator never takes it from what was freed before
    assert len(held) * 8 / 1e6 * 0.9 < peak.megabytes < 300


@pytest.mark.parametrize("name", SIZES)
def test_embeddings_have_the_shape_of_the_data_set(name):
    embeddings, labels = synthetic(name, 4, scale=10)
    n, n_classes, smallest, largest = SIZES[name]
    assert (len(embeddings), len(np.unique(labels))) == (n // 10, n_classes // 10)
    sizes = np.bincount(labels)
    assert smallest <= sizes.min()
    assert sizes.max() <= largest
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(n // 10), abs=1e-5)
