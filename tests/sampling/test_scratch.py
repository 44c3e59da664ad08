"""Scratch memory: apart from each other, and the same again."""

import threading

import numpy as np

from fairground.sampling.parallel import scratch


def test_arrays_of_one_call_do_not_overlap():
    first, second, third = scratch(((3, 5), np.float32), ((7,), np.uint8), ((2, 2), np.float64))
    first[:], second[:], third[:] = 1, 2, 3
    assert (first.shape, second.shape, third.shape) == ((3, 5), (7,), (2, 2))
    assert (first == 1).all()
    assert (second == 2).all()
    assert (third == 3).all()


def test_memory_is_given_out_again_and_grows():
    (small,) = scratch(((4,), np.float32))
    (again,) = scratch(((4,), np.float32))
    (large,) = scratch(((1 << 20,), np.float64))
    assert np.shares_memory(small, again)
    assert len(large) == 1 << 20


def test_threads_have_their_own():
    (ours,) = scratch(((4,), np.float32))
    theirs = []
    thread = threading.Thread(target=lambda: theirs.extend(scratch(((4,), np.float32))))
    thread.start()
    thread.join()
    assert not np.shares_memory(ours, theirs[0])
