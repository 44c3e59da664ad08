"""Which machine the digits were written on: on the same one every bit must agree, on others the first digits do."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

#: what different processors agree on
RELATIVE = 2e-4
#: a score of ranks moves in jumps where two neighbours are as good as equally near
SCORE = 0.02


def machine_key() -> str:
    """Return torch's version, the instructions it uses and the processor's name."""
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, {model}"


def digest(data: Any) -> str:
    """Return the hash of plain data to the last bit of its numbers."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def near(data: Any) -> Any:
    """Return stored data such that numbers agree to the digits that processors share."""
    if isinstance(data, dict):
        return {key: near(value) for key, value in data.items()}
    if isinstance(data, list):
        return [near(value) for value in data]
    return pytest.approx(data, rel=RELATIVE, abs=1e-7, nan_ok=True) if isinstance(data, float) else data


def write(path: Path, data: Any) -> None:
    """Write golden data with the machine that they come from."""
    path.write_text(json.dumps({"machine": machine_key(), **data}, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[dict[str, Any], bool]:
    """Return golden data, and whether they come from this machine."""
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored, stored.pop("machine") == machine_key()
