"""Tasks side by side: the same results, in order, on one thread or several."""

import threading

import numpy as np
import pytest
import torch

from fairground.sampling.distance_histograms import distance_histograms
from fairground.sampling.frechet import frechet_distances
from fairground.sampling.parallel import run_parallel
from tests.samplers.splits import seeded


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_results_come_in_order(n_threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads)
    assert run_parallel(lambda task: task * task, 7) == [0, 1, 4, 9, 16, 25, 36]
    assert run_parallel(lambda task: task, 0) == []


def test_one_thread_means_the_caller_s(monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert set(run_parallel(lambda _: threading.current_thread(), 3)) == {threading.current_thread()}


@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_a_task_raises_is_raised(n_threads, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: n_threads)

    def work(task):
        return [1, 2, 3][task]

    with pytest.raises(IndexError):
        run_parallel(work, 8)
    assert run_parallel(work, 3) == [1, 2, 3]


def test_mining_does_not_depend_on_the_number_of_threads(monkeypatch):
    points = torch.randn(300, 12, generator=seeded())
    subsets = torch.stack([torch.randperm(300, generator=seeded(i))[:20] for i in range(5)])
    found = []
    for n_threads in (1, 2):
        monkeypatch.setattr(torch, "get_num_threads", lambda n=n_threads: n)
        found.append((frechet_distances(points, subsets).numpy(), *distance_histograms(points, subsets, 50)[:2]))
    assert all(np.array_equal(alone, together) for alone, together in zip(*found, strict=True))
