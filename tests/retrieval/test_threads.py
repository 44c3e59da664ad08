import threading

import pytest
from threadpoolctl import threadpool_info

from fairground.retrieval.threads import share_out, single_threaded_blas


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


def test_a_failing_task_fails_the_call():
    def work(task, workspace):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        share_out(range(3), list, work, 2)
