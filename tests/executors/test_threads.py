"""The number of threads is part of what fixes the digits, so every executor holds its runs to the one asked for."""

import os

import pytest
import torch

from fairground.records.store import Store
from fairground.studies.executors.choose import executor_named
from fairground.studies.executors.inline import InlineExecutor
from fairground.studies.executors.threads import limited_to
from fairground.studies.scheduler import JOB, Scheduler
from tests.training.tiny import tiny

#: a network large enough that torch shares its sums out to threads
SPEC = tiny(
    "training.epochs=1",
    "training.batches_per_epoch=4",
    "training.batch_size=64",
    "data.n_classes=48",
    "data.size=32",
    "trunk.widths=[32, 64]",
    "head.embedding_dim=128",
)


def record(executor: str, threads: int, home):
    with executor_named(executor, JOB, workers=1, threads=threads) as spawned:
        (found,) = Scheduler(store=Store(home), executor=spawned).run_specs([SPEC])
    assert found.failure is None, found.failure
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_inline_processes_and_ray_give_the_same_digits(threads: int, tmp_path) -> None:
    records = {name: record(name, threads, tmp_path / name) for name in ("inline", "processes", "ray")}
    assert {found.provenance.threads for found in records.values()} == {threads}
    assert len({found.digits() for found in records.values()}) == 1


def test_a_process_has_its_own_threads_again_afterwards() -> None:
    before, said = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    for threads in (1, 2, 1):
        with limited_to(threads):
            assert torch.get_num_threads() == threads
            assert os.environ["OMP_NUM_THREADS"] == str(threads)
    assert (torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")) == (before, said)


def test_an_inline_job_that_fails_gives_its_threads_back() -> None:
    before = torch.get_num_threads()
    with InlineExecutor("tests.executors.jobs:fail", threads=1) as executor:
        (outcome,) = executor.run([{"how": "sentence"}])
    assert outcome.failure
    assert torch.get_num_threads() == before
