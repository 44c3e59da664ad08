"""Embeds a data set and dies without warning after some blocks. Arguments: model folder, data, file, blocks."""

import os
import signal
import sys
from pathlib import Path

from fairground.deploy.embedding_file import embed_to_file
from fairground.deploy.inputs import read_inputs
from fairground.deploy.model_folder import open_model

folder, data, out, n_blocks = sys.argv[1:]
told = iter(range(1, 10**9))


def tell(done: int, of: int) -> None:
    if done and next(told) == int(n_blocks):  # nothing is done when it begins
        os.kill(os.getpid(), signal.SIGKILL)


embed_to_file(open_model(folder), read_inputs(data), Path(out), tell=tell, note_seconds=0.0)
