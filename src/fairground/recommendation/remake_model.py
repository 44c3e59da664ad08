"""Make the model of a recommendation again from its plan, and see whether its weights are the same to the last bit."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairground.errors import StoreError, require
from fairground.files import read_json


@dataclass(frozen=True, kw_only=True)
class RemadeModel:
    """The checksum of the weights that were handed over, and of those made again."""

    name: str
    wanted: str
    found: str

    @property
    def is_same(self) -> bool:
        """Tell whether every weight is the same."""
        return self.wanted == self.found


def find_plan(home: Path, name: str) -> Path | None:
    """Return the plan of a recommendation by its name or enough of it; none where there is no such recommendation."""
    root = Path(home) / "recommendations"
    found = sorted(root.glob(f"{name}*/plan.json")) if name and root.is_dir() else []
    require(len(found) < 2, f"'{name}' means {len(found)} recommendations; give more of the name")
    return found[0] if found else None


def remake_model(plan: Path) -> RemadeModel:
    """Train what a plan says and return both checksums."""
    import numpy as np

    from fairground.adaptation.final_model import weights_of
    from fairground.adaptation.workbench import Workbench
    from fairground.spec.adaptation import AdaptationSpec
    from fairground.training.torch_threads import torch_threads

    said = _read(plan)
    spec = AdaptationSpec.from_plain(said["adaptation"])
    bench = Workbench(spec.run, is_small=said["is_small"])
    rows = np.array(said["rows"], dtype=np.int64)
    bench.embed(rows, is_time=lambda: True, tell=lambda *_: None)
    if spec.depth > 0:
        bench.embed_maps(rows, depth=spec.depth, views=said["views"], is_time=lambda: True, tell=lambda *_: None)
    with torch_threads(said["threads"]):
        adapted = bench.adapter.fit(spec, rows)
    return RemadeModel(name=plan.parent.name, wanted=said["weights_sha256"], found=weights_of(bench, adapted))


def _read(plan: Path) -> dict[str, Any]:
    said: dict[str, Any] = read_json(plan, error=StoreError)
    missing = {"adaptation", "is_small", "rows", "views", "threads", "weights_sha256"} - set(said)
    require(not missing, f"{plan} is damaged: it lacks {json.dumps(sorted(missing))}", StoreError)
    require(len(said["rows"]) > 0, f"{plan}: nothing had been trained or measured yet, so there is nothing to repeat")
    return said
