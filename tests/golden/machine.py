"""Which machine golden results come from: there every bit must agree, elsewhere the leading digits."""

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
    """Return torch's version, the instructions it uses, and the processor's name, model and features."""
    cpuinfo = Path("/proc/cpuinfo")
    first = cpuinfo.read_text(encoding="utf-8").partition("\n\n")[0].splitlines() if cpuinfo.exists() else []
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first)}
    wanted = "\n".join(fields.get(key, "") for key in ("cpu family", "model", "stepping", "cache size", "flags"))
    build = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    capability = torch.backends.cpu.get_cpu_capability()
    return f"torch {torch.__version__}, {capability}, {fields.get('model name', 'unknown')} {build}"


def digest(data: Any) -> str:
    """Return the hash of plain data to the last bit of its numbers."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def near(data: Any, within: float = 1e-7) -> Any:
    """Return stored data such that numbers agree to the digits that processors share, or within an amount."""
    if isinstance(data, dict):
        return {key: near(value, within) for key, value in data.items()}
    if isinstance(data, list):
        return [near(value, within) for value in data]
    return pytest.approx(data, rel=RELATIVE, abs=within, nan_ok=True) if isinstance(data, float) else data


def write(path: Path, data: Any) -> None:
    """Write golden data with the machine that they come from."""
    path.write_text(json.dumps({"machine": machine_key(), **data}, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> tuple[dict[str, Any], bool]:
    """Return golden data, and whether they come from this machine."""
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored, stored.pop("machine") == machine_key()
