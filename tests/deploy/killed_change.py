"""Changes indices, each in a process that dies without warning at some write to the disk.

Arguments: change:number of the write:folder, for each.
"""

import os
import signal
import sys

import numpy as np

from fairground.deploy.index_changes import add_embeddings, remove_from_index
from fairground.deploy.index_compaction import compact_index

really = os.fsync


def change_and_die(change: str, moment: int, folder: str) -> None:
    writes = iter(range(10**9))

    def fsync(handle: int) -> None:
        if next(writes) == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        really(handle)

    os.fsync = fsync
    rows = np.random.default_rng(0).normal(size=(5, 8))
    names = [f"folder 0/{row}.png" for row in range(4, 9)]
    if change == "remove":
        remove_from_index(folder, ids=[0, 29])
    elif change == "compact":
        compact_index(folder)
    else:
        add_embeddings(folder, rows, names=names, classes=["c"] * 5, replace_names=change == "replace")


for word in sys.argv[1:]:
    kind, number, place = word.split(":", 2)
    child = os.fork()
    if child == 0:
        change_and_die(kind, int(number), place)
        os._exit(0)
    os.waitpid(child, 0)
