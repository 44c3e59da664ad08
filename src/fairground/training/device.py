"""Where a run computes: the device by name, its algorithms, and what a record says of it."""

import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch

from fairground.errors import InputError, require

#: the same, for those of its functions that have no types
_backends: Any = torch.backends
#: where cuBLAS looks for the size of its workspace: with this one its sums are always in the same order
_WORKSPACE, _FIXED_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG", ":4096:8"


def device_named(name: str = "auto") -> torch.device:
    """Return the device called cpu, cuda, cuda:1, mps and so on; auto is the accelerator if there is one.

    An accelerator always has its number: threads that read images have a current device of their own.
    """
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if name == "cpu" or (name == "auto" and accelerator is None):
        return torch.device("cpu")
    names = ["auto", "cpu"]
    if accelerator is not None:
        count = torch.accelerator.device_count()
        names += [accelerator.type, *(f"{accelerator.type}:{number}" for number in range(count))]
    require(name in names, f"no device '{name}' on this machine; there are: {', '.join(names)}")
    assert accelerator is not None
    number = name.partition(":")[2]
    return torch.device(accelerator.type, int(number) if number else torch.accelerator.current_device_index())


@cache
def half_of(precision: str, device: torch.device) -> torch.dtype | None:
    """Return the numbers of two bytes that a network multiplies there; None where it multiplies in float32.

    auto takes what an accelerator has, bfloat16 before float16, and leaves a CPU as it is: few are faster by it.
    """
    kinds = {"bf16": [torch.bfloat16], "fp16": [torch.float16]}
    automatic = [] if device.type == "cpu" else [torch.bfloat16, torch.float16]
    wanted = automatic if precision == "auto" else kinds.get(precision, [])
    return next((kind for kind in wanted if _has(device, kind)), None)


def _has(device: torch.device, kind: torch.dtype) -> bool:
    if kind == torch.float16:
        # Small gradients vanish in float16 unless they are scaled, which torch does not do on Metal everywhere.
        return device.type != "mps"
    if device.type == "cuda":
        # Older GPUs only pretend to have it, slowly, and cuDNN has no such convolutions for them.
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    with suppress(TypeError, RuntimeError):
        torch.zeros(1, dtype=kind, device=device)
        return True
    return False


def require_precision(precision: str, device: torch.device) -> None:
    has_it = precision in ("full", "auto") or half_of(precision, device) is not None
    others = [name for name in ("bf16", "fp16") if half_of(name, device) is not None]
    refusal = f"training.precision={precision} needs hardware that {device} does not have; it has: "
    require(has_it, refusal + ", ".join(["full", *others, "auto"]))


def device_details(device: torch.device) -> dict[str, str]:
    """Return what can change results: model, driver, versions of libraries, algorithms; nothing for a CPU."""
    if device.type == "cpu":
        return {}
    named = getattr(torch.get_device_module(device), "get_device_name", None)
    loaded = ""
    with suppress(OSError):
        loaded = Path("/proc/driver/nvidia/version").read_text(errors="replace")
    driver = re.search(r"\d+\.\d[\d.]*", loaded)
    found = {
        "model": platform.processor() if named is None else named(device),
        "driver": driver[0] if driver else platform.mac_ver()[0],
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": _backends.cudnn.version(),
        "tf32": _uses_of_tf32() if device.type == "cuda" else "",
        "algorithms": "deterministic" if torch.are_deterministic_algorithms_enabled() else "",
    }
    return {key: str(value) for key, value in found.items() if value}


def _uses_of_tf32() -> str:
    """Return what torch rounds to 10 bits before it multiplies: by its own default, convolutions."""
    kinds = {"convolutions": _backends.cudnn, "matrix products": _backends.cuda.matmul}
    with suppress(RuntimeError):  # where a user said it operator by operator
        return " and ".join(kind for kind, backend in kinds.items() if backend.allow_tf32) or "nowhere"
    return "set per operator"


@contextmanager
def algorithms(device: torch.device, *, deterministic: bool) -> Iterator[None]:
    """Let an accelerator use deterministic algorithms alone, if asked for, and else the fastest that cuDNN finds.

    Torch is put back as it was. On a CPU nothing changes: it is deterministic for a fixed number of threads.
    """
    is_asked, cudnn = deterministic and device.type != "cpu", _backends.cudnn
    is_already = torch.are_deterministic_algorithms_enabled()
    before = torch.get_deterministic_debug_mode(), cudnn.benchmark, cudnn.deterministic, os.environ.get(_WORKSPACE)
    if is_asked:
        torch.use_deterministic_algorithms(True)
        cudnn.deterministic, cudnn.benchmark = True, False
        os.environ.setdefault(_WORKSPACE, _FIXED_WORKSPACE)
    elif device.type == "cuda" and not (is_already or cudnn.deterministic):
        cudnn.benchmark = True
    try:
        yield
    except RuntimeError as error:
        if is_asked and "determinis" in str(error):
            reason = str(error).partition(". ")[0]
            raise InputError(f"training.deterministic=true is not possible here: {reason}") from error
        raise
    finally:
        torch.set_deterministic_debug_mode(before[0])
        cudnn.benchmark, cudnn.deterministic = before[1:3]
        if is_asked and before[3] is None:
            del os.environ[_WORKSPACE]


def peak_device_memory(device: torch.device) -> int:
    """Return the largest number of bytes that tensors took so far; 0 where the device does not count."""
    count = None if device.type == "cpu" else getattr(torch.get_device_module(device), "max_memory_allocated", None)
    return 0 if count is None else int(count(device))


def reset_peak_memory(device: torch.device) -> None:
    reset = None if device.type == "cpu" else getattr(torch.get_device_module(device), "reset_peak_memory_stats", None)
    if reset is not None:
        reset(device)


def seed_streams(seed: int, device: torch.device) -> None:
    """Start torch's own random streams, that of the CPU and that of `device`; other devices' are left alone."""
    torch.default_generator.manual_seed(seed)
    if device.type != "cpu":
        state = torch.Generator(device).manual_seed(seed).get_state()
        torch.get_device_module(device).set_rng_state(state, device)


def stream_states(device: torch.device) -> dict[str, torch.Tensor]:
    """Return the states of torch's own random streams, that of the CPU and, under its kind, that of `device`."""
    states = {"state": torch.get_rng_state()}
    if device.type != "cpu":
        states[device.type] = torch.get_device_module(device).get_rng_state(device)
    return states


def set_streams(device: torch.device, states: Mapping[str, torch.Tensor]) -> None:
    torch.set_rng_state(states["state"])
    if device.type in states:
        torch.get_device_module(device).set_rng_state(states[device.type], device)


def forked_streams(device: torch.device) -> AbstractContextManager[None]:
    """Put torch's own random streams back after the block, that of the CPU and that of `device`."""
    devices = [] if device.type == "cpu" else [device]
    return torch.random.fork_rng(devices, device_type=device.type if devices else None)


@contextmanager
def torch_threads(n: int | None) -> Iterator[None]:
    """Let torch use `n` threads inside the block, if given; what the block changes is undone as well."""
    before = torch.get_num_threads()
    if n is not None:
        torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)
