"""A watch on a temporary home, in this process, for tests."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairground.dashboard.home import choose
from fairground.dashboard.page_cache import PageCache
from fairground.dashboard.server import WatchServer
from fairground.files import write_with_digest
from fairground.records.run_folder import RunFolder
from tests.patience import PATIENCE
from tests.records.factory import hashed, make_record, make_spec


@contextmanager
def watching(home: Path, *words: str, host: str = "127.0.0.1") -> Iterator[WatchServer]:
    """Serve a home on any free port while the block lasts."""
    keeper = PageCache(home, choose(words, home), pause=0.1)
    with WatchServer(host, 0, keeper) as server:
        keeper.start()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            keeper.end()
            server.shutdown()
            thread.join()
            keeper.join(PATIENCE)


def begin_run(home: Path, *, loss: str = "margin", seed: int = 31, n_epochs: int = 3, is_alive: bool = True) -> str:
    """What a run leaves while it trains: its spec, its lock and a checkpoint's facts after so many epochs."""
    spec = make_spec(loss=loss, seed=seed)
    rows = [dict(vars(row), validation=dict(row.validation)) for row in make_record(loss=loss, seed=seed).epochs]
    folder = RunFolder(home, hashed(spec)).make()
    folder.spec.write_text(json.dumps(spec))
    counts = {
        "epoch": n_epochs + 1,
        "rows": rows[: n_epochs + 1],
        "seconds": 4.0 * n_epochs,
        "started": "2026-01-01T09:00",
    }
    write_with_digest(folder.checkpoints / f"{40 * n_epochs:08d}.json", counts)
    (folder.path / "owner.lock").write_text(f"process {os.getpid() if is_alive else 2**22 + 1}")
    return folder.name
