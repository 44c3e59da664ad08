"""What every executor owes, over all of them."""

import os

import pytest
import torch

from fairground.records.store import Store
from fairground.studies.executors.executor import Executor, executor_named, limited_to
from fairground.studies.executors.processes import ProcessExecutor
from fairground.studies.scheduler import JOB, Scheduler
from tests.training.tiny import tiny

JOBS = "tests.executors.jobs"


def numbered(*arguments: dict) -> dict[str, dict]:
    """Return jobs by id: the number of each argument, or its place."""
    return {str(argument.get("n", place)): argument for place, argument in enumerate(arguments)}


def two_processes(job: str, **settings) -> Executor:
    return ProcessExecutor(job, workers=2, **settings)


@pytest.fixture(params=[Executor, two_processes], ids=["inline", "processes"])
def make(request):
    return request.param


def test_each_argument_comes_out_once_with_its_result(make):
    with make(f"{JOBS}:double") as executor:
        outcomes = list(executor.run(numbered(*({"n": n} for n in range(20)))))
    assert sorted(int(outcome.job_id) for outcome in outcomes) == list(range(20))
    assert all(outcome.result["doubled"] == 2 * int(outcome.job_id) for outcome in outcomes)
    assert {(outcome.failure, outcome.attempts) for outcome in outcomes} == {(None, 1)}


def test_a_search_may_submit_while_it_listens(make):
    with make(f"{JOBS}:double") as executor:
        executor.submit("1", {"n": 1})
        seen = []
        for outcome in executor.finished():
            seen.append(outcome.result["doubled"])
            if seen[-1] < 100:
                executor.submit(str(seen[-1]), {"n": seen[-1]})
    assert seen == [2, 4, 8, 16, 32, 64, 128]


def test_what_jobs_tell_is_heard_in_order(make):
    heard = []
    with make(f"{JOBS}:double", watch=heard.append) as executor:
        assert len(list(executor.run(numbered({"n": 1, "epochs": 3}, {"n": 2, "epochs": 3})))) == 2
    for run in (1, 2):
        assert [told["epoch"] for told in heard if told["run"] == run] == [1, 2, 3]


@pytest.mark.parametrize(
    ("how", "sentence"), [("refusal", "the split is empty"), ("bug", "ValueError: a bug"), ("exit", "SystemExit: 3")]
)
def test_a_failing_job_is_told_in_a_sentence_and_not_tried_again(make, how, sentence):
    with make(f"{JOBS}:fail") as executor:
        (outcome,) = executor.run({"a": {"how": how}})
        (after,) = executor.run({"b": {"how": "bug"}})
    assert sentence in outcome.failure
    assert outcome.result is None
    assert outcome.attempts == after.attempts == 1


@pytest.mark.parametrize(
    ("job", "sentence"),
    [("no.such.module:job", "No module named 'no'"), (f"{JOBS}:doubel", "has no attribute 'doubel'")],
)
def test_a_job_that_is_not_there_is_a_failure_in_a_sentence(make, job, sentence):
    with make(job) as executor:
        (outcome,) = executor.run({"a": {}})
    assert sentence in outcome.failure


def test_leaving_early_forgets_what_has_not_run(make):
    with make(f"{JOBS}:double") as executor:
        for _ in executor.run(numbered(*({"n": n} for n in range(5)))):
            break
    assert list(executor.finished()) == []


#: a network large enough that torch shares its sums out to threads
SPEC = tiny(
    *("training.epochs=1", "training.batches_per_epoch=4", "training.batch_size=64"),
    *("data.n_classes=48", "data.size=32", "trunk.widths=[32, 64]", "head.embedding_dim=128"),
)


def record(executor: str, threads: int, home):
    with executor_named(executor, JOB, workers=1, threads=threads) as spawned:
        (found,) = Scheduler(store=Store(home), executor=spawned).run_specs([SPEC])
    assert found.failure is None, found.failure
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_inline_and_processes_give_the_same_digits(threads: int, tmp_path) -> None:
    records = {name: record(name, threads, tmp_path / name) for name in ("inline", "processes")}
    assert {found.provenance.threads for found in records.values()} == {threads}
    assert len({found.digits() for found in records.values()}) == 1


def test_a_process_has_its_own_threads_again_afterwards() -> None:
    before, said = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    for threads in (1, 2, 1):
        with limited_to(threads):
            assert torch.get_num_threads() == threads
            assert os.environ["OMP_NUM_THREADS"] == str(threads)
    assert (torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")) == (before, said)
