"""What every executor owes, over all of them."""

import pytest

from fairground.errors import InputError
from fairground.studies.executors.executor import Executor
from fairground.studies.executors.inline import InlineExecutor
from fairground.studies.executors.processes import ProcessExecutor

JOBS = "tests.executors.jobs"


def two_processes(job: str, **settings) -> Executor:
    return ProcessExecutor(job, workers=2, **settings)


@pytest.fixture(params=[InlineExecutor, two_processes], ids=["inline", "processes"])
def make(request):
    return request.param


def test_each_argument_comes_out_once_with_its_result(make):
    arguments = [{"n": n} for n in range(20)]
    with make(f"{JOBS}:double") as executor:
        outcomes = list(executor.run(arguments))
    assert sorted(outcome.argument["n"] for outcome in outcomes) == list(range(20))
    assert all(outcome.result["doubled"] == 2 * outcome.argument["n"] for outcome in outcomes)
    assert {(outcome.failure, outcome.attempts) for outcome in outcomes} == {(None, 1)}


def test_a_search_may_submit_while_it_listens(make):
    with make(f"{JOBS}:double") as executor:
        executor.submit({"n": 1})
        seen = []
        for outcome in executor.finished():
            seen.append(outcome.result["doubled"])
            if seen[-1] < 100:
                executor.submit({"n": seen[-1]})
    assert seen == [2, 4, 8, 16, 32, 64, 128]


def test_an_argument_under_way_is_refused_and_welcome_again_afterwards(make):
    with make(f"{JOBS}:double") as executor:
        executor.submit({"n": 1, "epochs": 0})
        with pytest.raises(InputError, match="already under way"):
            executor.submit({"epochs": 0, "n": 1})
        assert len(list(executor.finished())) == 1
        assert len(list(executor.run([{"n": 1, "epochs": 0}]))) == 1


def test_what_jobs_tell_is_heard_in_order(make):
    heard = []
    with make(f"{JOBS}:double", watch=heard.append) as executor:
        assert len(list(executor.run([{"n": 1, "epochs": 3}, {"n": 2, "epochs": 3}]))) == 2
    for run in (1, 2):
        assert [told["epoch"] for told in heard if told["run"] == run] == [1, 2, 3]


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("refusal", "the split is empty"),
        ("bug", "ValueError: a bug"),
        ("exit", "SystemExit: 3"),
        ("nan", "ValueError: Out of range float values are not JSON compliant"),
        ("nothing", "must return a mapping; got NoneType"),
    ],
)
def test_a_failing_job_is_told_in_a_sentence_and_not_tried_again(make, how, sentence):
    with make(f"{JOBS}:fail") as executor:
        (outcome,) = executor.run([{"how": how}])
        (after,) = executor.run([{"how": "bug", "n": 2}])
    assert sentence in outcome.failure
    assert outcome.result is None
    assert outcome.attempts == after.attempts == 1
    assert "Traceback" in outcome.details


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        ("no.such.module:job", "cannot import 'no.such.module' for the job"),
        (f"{JOBS}:doubel", "has no 'doubel'. Did you mean 'double'?"),
    ],
)
def test_a_job_that_is_not_there_is_a_failure_in_a_sentence(make, job, sentence):
    with make(job) as executor:
        (outcome,) = executor.run([{}])
    assert sentence in outcome.failure


def test_a_job_that_is_no_path_is_refused_before_anything_starts(make):
    with pytest.raises(InputError, match=r"a job is named package.module:function; got 'double'"):
        make("double")


def test_leaving_early_forgets_what_has_not_run(make):
    with make(f"{JOBS}:double") as executor:
        for _ in executor.run([{"n": n} for n in range(5)]):
            break
    assert list(executor.finished()) == []
