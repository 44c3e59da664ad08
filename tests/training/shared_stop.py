"""A run under torchrun that is killed in its second epoch: arguments are the home and the words of the spec."""

import os
import signal
import sys
from pathlib import Path

import torch

from fairground.records.training_events import BatchTrained
from fairground.spec import load_run, parse_overrides
from fairground.training.run import run
from fairground.training.torchrun_group import joined

if __name__ == "__main__":
    torch.set_num_threads(1)
    with joined() as group:
        batches = iter(range(1, 1000))

        def listen(event) -> None:
            if isinstance(event, BatchTrained) and next(batches) == 9 and group.is_leader:
                os.kill(os.getpid(), signal.SIGKILL)

        run(load_run(overrides=parse_overrides(sys.argv[2:])), home=Path(sys.argv[1]), listen=listen, group=group)
