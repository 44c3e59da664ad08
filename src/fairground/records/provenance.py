"""Provenance of a run: versions of code and packages, machine, data, time and memory."""

import os
import platform
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path

import fairground
from fairground.records.record import Provenance

#: packages that can change results or speed
PACKAGES = ("torch", "torchvision", "timm", "numpy", "scipy", "numba", "pillow", "safetensors")


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Measures a run; time and memory spent before a resume are included."""

    started: str
    earlier_seconds: float
    earlier_peak: int
    begun: float
    earlier_cpu: float = 0.0
    cpu_begun: float = 0.0

    def seconds(self) -> float:
        return self.earlier_seconds + max(0.0, time.monotonic() - self.begun)

    def cpu_seconds(self) -> float:
        return self.earlier_cpu + max(0.0, time.process_time() - self.cpu_begun)

    def peak(self) -> int:
        return max(self.earlier_peak, peak_memory())

    def finish(
        self, *, data_fingerprint: str, split_fingerprint: str, threads: int, accelerator: str = ""
    ) -> Provenance:
        """Return the provenance of the run; `accelerator` names the device if it is not the CPU."""
        return Provenance(
            fairground=code_version(),
            packages=package_versions(),
            hardware=hardware() + (f", {accelerator}" if accelerator else ""),
            threads=threads,
            data_fingerprint=data_fingerprint,
            split_fingerprint=split_fingerprint,
            started=self.started,
            wall_seconds=round(self.seconds(), 3),
            cpu_seconds=round(self.cpu_seconds(), 3),
            peak_memory_bytes=self.peak(),
        )


def begin(
    *, started: str | None = None, earlier_seconds: float = 0.0, earlier_peak: int = 0, earlier_cpu: float = 0.0
) -> Clock:
    """Start the clock; a resumed run passes what its earlier attempts measured."""
    _forget_peak()
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Clock(
        started=started or now,
        earlier_seconds=earlier_seconds,
        earlier_peak=earlier_peak,
        begun=time.monotonic(),
        earlier_cpu=earlier_cpu,
        cpu_begun=time.process_time(),
    )


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python and of the installed packages, without importing them."""
    versions = {name: _version_of(name) for name in names}
    return {"python": platform.python_version(), **{name: found for name, found in versions.items() if found}}


@cache
def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def hardware() -> str:
    """Return system, processor, cores and memory in one line."""
    cores = os.cpu_count() or 1
    return f"{platform.system()} {platform.machine()}, {_processor()}, {cores} cores, {_memory()}"


def code_version() -> str:
    """Return the version of the package and, in a git checkout, its commit."""
    commit = _commit(Path(__file__).parents[3] / ".git")
    return fairground.__version__ + (f"+g{commit[:10]}" if commit else "")


def peak_memory() -> int:
    """Return the peak memory of the process in bytes; 0 if unknown."""
    status = _text(Path("/proc/self/status"))
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    if os.name != "posix":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _forget_peak() -> None:
    """Reset the peak on Linux: the earlier runs of a worker do not count."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _processor() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return " ".join(value.split())
    return platform.processor() or "unknown processor"


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return "unknown memory"
    return f"{size / 2**30:.0f} GiB"


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
