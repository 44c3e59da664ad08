"""What the benchmark of metrics measures with."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.contestants import SIZES, like, synthetic
from benchmarks.measuring import in_turns

ROOT = Path(__file__).parents[2]


def test_contestants_take_turns_and_the_best_time_counts():
    calls = []
    times = in_turns({"a": lambda: calls.append("a"), "b": lambda: (calls.append("b"), time.sleep(0.01))}, turns=3)
    assert calls == ["a", "b"] * 3
    assert times["a"] < 0.01 <= times["b"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not say what a process holds")
def test_the_peak_is_seen():
    # In a process of its own: here the array may lie in memory that another test gave back.
    script = (
        "import numpy as np\n"
        "from benchmarks.measuring import PeakMemory\n"
        "with PeakMemory() as peak:\n"
        "    held = np.ones(16_000_000)\n"
        "print(peak.megabytes)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert 16_000_000 * 8 / 1e6 * 0.9 < float(done.stdout) < 300


@pytest.mark.parametrize("name", SIZES)
def test_embeddings_have_the_shape_of_the_data_set(name):
    embeddings, labels = synthetic(name, 4, scale=10)
    n, n_classes, smallest, largest = SIZES[name]
    assert (len(embeddings), len(np.unique(labels))) == (n // 10, n_classes // 10)
    sizes = np.bincount(labels)
    assert smallest <= sizes.min()
    assert sizes.max() <= largest
    assert np.linalg.norm(embeddings, axis=1) == pytest.approx(np.ones(n // 10), abs=1e-5)


def test_embeddings_like_real_ones_have_their_covariances():
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(300), 20)
    spread = np.array([1.0, 0.5, 0.1])
    real = (
        [4.0, 0, 0] + (draw.normal(size=(300, 3)) * spread)[labels] + 0.5 * draw.normal(size=(6000, 3)) * spread[::-1]
    )
    made, made_labels = like(real, labels, "SOP", scale=10)

    def moments(rows, kind):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        sizes = np.bincount(kind)
        means = np.stack([np.bincount(kind, column) / sizes for column in unit.T], axis=1)
        within = (unit - means[kind]).T @ (unit - means[kind]) / (len(unit) - len(sizes))
        return unit.mean(0), np.cov(unit.T), within

    assert len(made) == SIZES["SOP"][0] // 10
    for ours, theirs in zip(moments(made, made_labels), moments(real, labels), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.01)
