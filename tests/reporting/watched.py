"""A watch on a temporary run directory, in this process, for tests."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairground.files import write_with_digest
from fairground.records.run_folder import RunFolder
from fairground.reporting.watch import Watch, WatchServer, choose
from tests.records.factory import hashed, make_record, make_spec


@contextmanager
def watching(home: Path, *names: str) -> Iterator[WatchServer]:
    """Serve a run directory on any free port while the block lasts."""
    with WatchServer("127.0.0.1", 0, Watch(home, choose(names, home), pause=0.1)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def begin_run(home: Path, *, loss: str = "margin", seed: int = 31, n_epochs: int = 3) -> str:
    """What a run leaves while it trains: its spec and a checkpoint's facts after so many epochs."""
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
    return folder.name
