"""The room of sinks is light: neither torch nor any extra is imported before a sink is asked for."""

import json
import subprocess
import sys

from tests.patience import PATIENCE

PROGRAM = """
import json, sys
import fairground.loggers.feed
print(json.dumps([name for name in ("torch", "tensorboard", "wandb", "mlflow") if name in sys.modules]))
import fairground.loggers.tensorboard
print(json.dumps([name for name in ("torch", "tensorflow") if name in sys.modules]))
"""


def test_nothing_heavy_is_imported():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[], []]
