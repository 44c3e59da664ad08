"""A faster, approximate search for large collections with faiss, where that is there; what it misses is measured."""

from pathlib import Path
from typing import Any

import numpy as np

from fairground.deploy.live_rows import LiveRows
from fairground.deploy.search import Matches
from fairground.deploy.search import search as exact
from fairground.errors import InputError, StoreError, require
from fairground.files import require_file

FILE = "approximate.faiss"
#: from more rows than this on, an approximate search is made without being asked for
LARGE = 1_000_000
#: why there is none for raw embeddings
COSINES = "an approximate search compares cosines; this model compares raw embeddings"
_SAMPLE = 100


def faiss() -> Any:
    """Return faiss, or say how to get it."""
    try:
        import faiss as module
    except ImportError as error:
        raise InputError("an approximate search needs faiss: pip install faiss-cpu; or search exactly") from error
    return module


def is_there() -> bool:
    """Tell whether faiss is installed."""
    try:
        faiss()
    except InputError:
        return False
    return True


def build(folder: Path, rows: LiveRows) -> float:
    """Write an inverted file over unit rows and return the share of true ten nearest it finds, on a sample of rows."""
    module = faiss()
    n, width = rows.shape
    n_lists = max(1, min(int(4 * np.sqrt(n)), n // 39))
    index = module.IndexIVFFlat(module.IndexFlatIP(width), width, n_lists, module.METRIC_INNER_PRODUCT)
    step = max(1, n // (n_lists * 64))
    index.train(np.ascontiguousarray(rows[::step], np.float32))
    for _, block, _ in rows.blocks():
        index.add(np.ascontiguousarray(block))
    index.nprobe = max(1, n_lists // 16)
    module.write_index(index, str(folder / FILE))
    sample = np.ascontiguousarray(rows[:: max(1, n // _SAMPLE)][:_SAMPLE], np.float32)
    k = min(10, n)
    truth = exact(sample, rows, k).numbers
    found = index.search(sample, k)[1]
    return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(truth, found, strict=True)]))


def search(folder: Path, queries: np.ndarray, k: int) -> Matches:
    """Return what the approximate search finds; -1 where it finds fewer than `k`."""
    path = folder / FILE
    require(path.exists(), f"{folder} has no approximate search; make one with `fairground index --approximate`")
    require_file(path, error=StoreError)
    try:
        index = faiss().read_index(str(path))
    except RuntimeError as error:
        raise StoreError(f"{path} cannot be read: {str(error)[:200]}; make the index anew") from error
    similarities, numbers = index.search(queries, min(k, index.ntotal))
    return Matches(numbers.astype(np.int64), similarities)
