"""Provenance of a run: versions of code and packages, machine, data, time and memory."""

import os
import platform
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import fairground
from fairground.records.record import Provenance

#: packages that can change results or speed
PACKAGES = ("torch", "torchvision", "timm", "numpy", "scipy", "numba", "pillow", "safetensors")


@dataclass
class Clock:
    """Measures a run from now on; a resumed one passes what its earlier attempts measured."""

    started: str = ""
    earlier_seconds: float = 0.0
    earlier_cpu: float = 0.0
    earlier_peak: int = 0

    def __post_init__(self) -> None:
        self.started = self.started or datetime.now(UTC).isoformat(timespec="seconds")
        self._begun, self._cpu_begun = time.monotonic(), time.process_time()
        # On Linux the peak starts from here: the earlier runs of a worker do not count.
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")

    def seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self._begun

    def cpu_seconds(self) -> float:
        return self.earlier_cpu + time.process_time() - self._cpu_begun

    def peak(self) -> int:
        return max(self.earlier_peak, _peak_memory())

    def finish(self, **known: Any) -> Provenance:
        """Return the provenance of the run; `known` are the fields that only the run knows: data, split, device."""
        model = known.get("device_details", {}).get("model")
        named = (line.partition(":") for line in _text(Path("/proc/cpuinfo")).splitlines())
        models = (" ".join(value.split()) for key, _, value in named if key.strip() == "model name")
        processor = next(models, platform.processor() or "unknown processor")
        try:
            memory = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
        except (AttributeError, OSError, ValueError):
            memory = "unknown memory"
        return Provenance(
            fairground=code_version(),
            packages=_package_versions(),
            hardware=f"{platform.system()} {platform.machine()}, {processor}, {os.cpu_count() or 1} cores, {memory}"
            + (f", {model}" if model else ""),
            started=self.started,
            wall_seconds=round(self.seconds(), 3),
            cpu_seconds=round(self.cpu_seconds(), 3),
            peak_memory_bytes=self.peak(),
            **known,
        )


@cache
def _package_versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages, without importing them."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def code_version() -> str:
    """Return the version of the package and, in a git checkout, its commit."""
    commit = _commit(Path(__file__).parents[3] / ".git")
    return fairground.__version__ + (f"+g{commit[:10]}" if commit else "")


def _peak_memory() -> int:
    status = _text(Path("/proc/self/status"))
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    if os.name != "posix":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _commit(git: Path) -> str:
    """Return the current commit without starting git, which is slow."""
    head = _text(git / "HEAD").strip()
    if not head.startswith("ref: "):
        return head
    reference = head.removeprefix("ref: ")
    packed = (line.split() for line in _text(git / "packed-refs").splitlines())
    listed = next((words[0] for words in packed if len(words) == 2 and words[1] == reference), "")
    return _text(git / reference).strip() or listed


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
