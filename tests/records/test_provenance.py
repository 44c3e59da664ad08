import dataclasses
import time

import numpy as np

import fairground
from fairground.records import Clock, code_version, provenance
from tests.patience import PATIENCE


def test_a_run_says_where_its_numbers_come_from():
    clock = Clock()
    time.sleep(0.01)
    found = clock.finish(data_fingerprint="d", split_fingerprint="s", threads=2)
    assert found.fairground.startswith(fairground.__version__)
    assert found.packages["numpy"] == np.__version__
    assert found.packages["python"].startswith("3.")
    assert found.threads == 2
    assert "cores" in found.hardware
    assert 0.01 <= found.wall_seconds < PATIENCE
    assert found.peak_memory_bytes > 5_000_000
    assert found.started.endswith("+00:00")
    assert all(value not in ("", None) for value in dataclasses.asdict(found).values())


def test_what_was_spent_before_a_resume_counts():
    clock = Clock(started="2026-01-01T00:00:00+00:00", earlier_seconds=100.0, earlier_peak=2**60, earlier_cpu=50.0)
    found = clock.finish(data_fingerprint="d", split_fingerprint="s", threads=1)
    assert 100 <= found.wall_seconds < 100 + PATIENCE
    assert 50 <= found.cpu_seconds < 60
    assert found.peak_memory_bytes == 2**60
    assert found.started == "2026-01-01T00:00:00+00:00"


def test_a_checkout_tells_its_commit(tmp_path):
    git = tmp_path / ".git"
    git.mkdir()
    assert provenance._commit(git) == ""
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "packed-refs").write_text("# pack-refs\n" + "a" * 40 + " refs/heads/main\n")
    assert provenance._commit(git) == "a" * 40
    (git / "HEAD").write_text("b" * 40 + "\n")
    assert provenance._commit(git) == "b" * 40
    assert code_version().startswith(fairground.__version__)
