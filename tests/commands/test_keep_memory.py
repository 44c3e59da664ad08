"""The command line keeps memory, and tells its workers; the library leaves the user's process as it is."""

import os
import platform

import pytest

from tests.patience import python

COUNT = """
import os, resource, sys, torch
if sys.argv[1] == "yes":
    from fairground.commands.memory_allocator import keep_memory
    assert keep_memory()
total = 0.0
for _ in range(3):
    total += float(torch.ones(1 << 24).cumsum(0).sum())
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    total += float(torch.ones(1 << 24).cumsum(0).sum())
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, total, os.environ.get("MALLOC_ARENA_MAX"))
"""
LIBRARY = """
import os, signal, sys, warnings
import fairground as fg
from fairground.errors import InputError
def state():
    return dict(os.environ), signal.getsignal(signal.SIGINT), warnings.showwarning, sys.stdout, sys.stderr
compare, before = fg.compare, state()
try:
    compare(home=sys.argv[1])
except InputError:
    pass
assert state() == before
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep memory")
def test_pages_are_used_again_and_results_stay_the_same() -> None:
    bare = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    kept, same, arenas = python("-c", COUNT, "yes", env=bare, check=True).stdout.split()
    fresh, total, untouched = python("-c", COUNT, "no", env=bare, check=True).stdout.split()
    assert (same, arenas, untouched) == (total, "1", "None")
    # 64 MiB are 16,384 pages, or 32 where the system gives huge ones.
    assert int(kept) < int(fresh) / 4


def test_the_library_leaves_the_process_as_it_is(tmp_path) -> None:
    python("-c", LIBRARY, str(tmp_path), check=True)
