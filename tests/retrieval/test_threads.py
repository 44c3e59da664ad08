import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from fairground.retrieval.threads import share_out, share_stretches, single_threaded_blas


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_overlapping_callers_leave_blas_as_they_found_it():
    before = blas_threads()
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        thread.start()
        entered.wait()
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert blas_threads() == before


@pytest.mark.parametrize("n", [1, 3])
def test_every_task_is_done_once(n):
    workspaces = share_out(range(100), list, lambda task, workspace: workspace.append(task), n)
    assert len(workspaces) == n
    assert sorted(task for workspace in workspaces for task in workspace) == list(range(100))


def test_stretches_cover_the_length():
    marks = np.zeros(23, int)

    def work(begin, end):
        marks[begin:end] += 1

    share_stretches(23, 5, work, 2)
    assert (marks == 1).all()


def test_a_failing_task_fails_the_call():
    def work(task, workspace):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_out(range(3), list, work, 2)
