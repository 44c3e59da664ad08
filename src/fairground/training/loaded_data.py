"""Data sets that a process has loaded: runs that follow in the same process share them.

A worker of a study makes hundreds of runs on the same few data sets. A table is kept for as long as its data set says
that loading would give the same again; data that cannot tell are loaded anew.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from fairground.contracts.table import ImageTable
from fairground.spec.identity import canonical_json
from fairground.spec.run import ComponentSpec
from fairground.training.build import build_dataset

#: tables kept at once: a study goes from one data set to the next
_KEPT = 2
_loaded: "OrderedDict[Hashable, LoadedTable]" = OrderedDict()


class LoadedTable(NamedTuple):
    """A table and a hash that changes when any of its images, labels or class names does."""

    table: ImageTable
    fingerprint: str


def load_table(part: ComponentSpec) -> LoadedTable:
    """Return a data set's table, the one this process has already where it is still good."""
    dataset = build_dataset(part)
    version = dataset.version()
    key = (part.name, canonical_json(part.settings), version)
    found = _loaded.get(key)
    if found is None:
        table = dataset.load()
        found = LoadedTable(table, fingerprint_of(table.images.fingerprint(), table.labels, table.class_names))
    if version is not None:
        _loaded[key] = found
        _loaded.move_to_end(key)
        while len(_loaded) > _KEPT:
            _loaded.popitem(last=False)
    return found


def fingerprint_of(*things: object) -> str:
    """Return a short hash of arrays and plain values."""
    digest = hashlib.sha256()
    for thing in things:
        digest.update(thing.tobytes() if isinstance(thing, np.ndarray) else repr(thing).encode())
        digest.update(b"|")
    return digest.hexdigest()[:16]
