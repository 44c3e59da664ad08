"""Weights & Biases, offline: one folder per run under <run directory>/wandb; nothing leaves the machine.

Upload with: wandb sync <run directory>/wandb/offline-run-*
"""

import os
from collections.abc import Iterable
from pathlib import Path

# Before the import: neither the run nor a crash of wandb itself is reported.
os.environ["WANDB_ERROR_REPORTING"] = "false"
os.environ["WANDB_SILENT"] = "true"

import wandb

from fairground.loggers.feed import Introduction, Number


class WandbLogger:
    """A resumed run continues in a second folder under the same id; `wandb sync` joins them."""

    def __init__(self, run: Introduction, home: Path) -> None:
        (home / "wandb").mkdir(parents=True, exist_ok=True)
        # wandb cannot read its own files: the last epoch that was written is noted beside them.
        self._last = home / "wandb" / f"{run.name}.last-epoch"
        self._epoch = int(self._last.read_text()) if self._last.exists() else -1
        self._run = wandb.init(
            mode="offline",
            dir=home,
            project="fairground",
            id=run.name,
            name=run.title,
            config=dict(run.settings),
            tags=[value[:64] for value in run.tags.values() if value],
            reinit="create_new",
            settings=wandb.Settings(
                console="off", silent=True, disable_git=True, save_code=False, x_disable_stats=True, x_disable_meta=True
            ),
        )
        self._run.define_metric("epoch")
        self._run.define_metric("*", step_metric="epoch")

    def write(self, numbers: Iterable[Number]) -> None:
        """Write the numbers of each epoch as one row of wandb's history, final scores into its summary."""
        rows: dict[int, dict[str, float]] = {}
        for tag, epoch, value in numbers:
            if tag.startswith("final/"):
                self._run.summary[tag] = value
            elif epoch > self._epoch:
                rows.setdefault(epoch, {})[tag] = value
        for epoch, row in sorted(rows.items()):
            # The epoch is wandb's step too, so that the folders of a resumed run fit together.
            self._run.log({"epoch": epoch, **row}, step=epoch)
            self._epoch = epoch
            self._last.write_text(str(epoch))

    def close(self, state: str) -> None:
        self._run.summary["state"] = state
        self._run.finish(exit_code=0 if state in ("done", "stopped") else 1)
