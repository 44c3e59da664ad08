"""The ground and the paper wing must be usable, and quick to import, on a machine without torch."""

import json
import subprocess
import sys
from pathlib import Path

import fairground
from tests.patience import PATIENCE

ROOMS = ("errors", "spec", "records", "papers", "comparison", "studies", "reporting")
PROGRAM = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
print(json.dumps([name for name in sys.modules if name == "torch" or name.startswith("torch.")][:5]))
"""


def modules() -> list[str]:
    root = Path(fairground.__file__).parent
    found = [path.relative_to(root).with_suffix("").parts for path in sorted(root.rglob("*.py"))]
    kept = [parts for parts in found if parts[0] in ROOMS]
    return [".".join(["fairground", *parts]).removesuffix(".__init__") for parts in kept]


def test_importing_every_module_of_the_paper_wing_does_not_import_torch():
    names = modules()
    known = {"fairground.records.store", "fairground.studies.executors.processes", "fairground.reporting.page"}
    assert known <= set(names)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(names)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
