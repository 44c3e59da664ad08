"""Weights & Biases, offline: a folder of its own for every run under <home>/wandb; nothing leaves the machine.

Sent, by whoever wants to, with: wandb sync <home>/wandb/offline-run-*
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

# Before the import: neither the run nor a crash of wandb itself is anybody's business.
os.environ["WANDB_ERROR_REPORTING"] = "false"
os.environ["WANDB_SILENT"] = "true"

import wandb
from wandb.proto import wandb_internal_pb2

from fairground.loggers.logger import Introduction, Number, RunLogger

PROJECT = "fairground"
#: the file is a log in blocks; each piece of a record has a head of seven bytes and so has the file
_BLOCK, _HEAD = 32768, 7
_LONGEST, _LAST = 1, 4
#: seconds to wait for a file to be whole
_PATIENCE = 10.0


class WandbLogger(RunLogger):
    """A resumed run goes on in a folder of its own under the same id; `wandb sync` joins them."""

    def __init__(self, run: Introduction, home: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        files = sorted((home / "wandb").glob(f"offline-run-*/run-{run.name}.wandb"))
        self._held = {found for path in files for found in held(path)}
        settings = wandb.Settings(
            console="off",
            silent=True,
            disable_git=True,
            save_code=False,
            x_disable_stats=True,
            x_disable_meta=True,
        )
        self._run = wandb.init(
            mode="offline",
            dir=home,
            project=PROJECT,
            id=run.name,
            name=run.title,
            config=dict(run.settings),
            tags=[value[:64] for value in run.tags.values() if value],
            reinit="create_new",
            settings=settings,
        )
        self._run.define_metric("epoch")
        self._run.define_metric("*", step_metric="epoch")

    def write(self, numbers: Iterable[Number]) -> None:
        """Write the numbers of each epoch as one row of wandb's history, final scores into its summary."""
        rows: dict[int, dict[str, float]] = {}
        for tag, epoch, value in numbers:
            if tag.startswith("final/"):
                self._run.summary[tag] = value
            elif (tag, epoch) not in self._held:
                rows.setdefault(epoch, {})[tag] = value
        for epoch, row in sorted(rows.items()):
            # The epoch is wandb's step too, so that the folders of a resumed run fit together.
            self._run.log({"epoch": epoch, **row}, step=epoch)
            self._held |= {(tag, epoch) for tag in row}

    def close(self, state: str) -> None:
        """Say how it ended, and wait until the file says so: wandb writes it in a process of its own."""
        self._run.summary["state"] = state
        file = Path(self._run.dir).parent / f"run-{self._run.id}.wandb"
        self._run.finish(exit_code=0 if state in ("done", "stopped") else 1)
        deadline = time.monotonic() + _PATIENCE
        while not any(record.HasField("exit") for record in records(file)) and time.monotonic() < deadline:
            time.sleep(0.05)


def held(path: Path) -> set[tuple[str, int]]:
    """Return which numbers of which epochs a run's file holds; one cut short by a kill is read as far as it goes."""
    import json

    found: set[tuple[str, int]] = set()
    for record in records(path):
        row = {item.nested_key[0] if item.nested_key else item.key: item.value_json for item in record.history.item}
        if "epoch" in row:
            epoch = int(json.loads(row["epoch"]))
            found |= {(tag, epoch) for tag in row if tag != "epoch" and not tag.startswith("_")}
    return found


def records(path: Path) -> Iterator[wandb_internal_pb2.Record]:
    """Yield what a run's file holds, record by record: wandb itself no longer reads its files in Python."""
    data = path.read_bytes()
    at, pieces = _HEAD, b""
    while at + _HEAD <= len(data):
        if _BLOCK - at % _BLOCK < _HEAD:  # the end of a block is left empty where no head fits
            at += _BLOCK - at % _BLOCK
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        piece = data[at + _HEAD : at + _HEAD + length]
        # Cut short, by a kill or because it is still being written.
        if len(piece) < length or kind not in range(_LONGEST, _LAST + 1):
            return
        at += _HEAD + length
        pieces += piece
        if kind in (_LONGEST, _LAST):
            yield wandb_internal_pb2.Record.FromString(pieces)
            pieces = b""
