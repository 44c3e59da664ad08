"""A device on a machine that has none: tensors that say `sim:0` or `sim:1` and keep their numbers in main memory.

Importing this file, before fairground, gives torch an accelerator with two devices. What CUDA refuses is refused here:
operands on two devices, `.numpy()`, indices on a device into main memory, a generator of another kind of device, and
sums that have no deterministic form where these are asked for. The current device belongs to a thread, each device has
a random stream of its own, and what waits for the device is counted by the line of fairground that asked. By Metal's
rules there is no float64 either. It has rules, not hardware: no NCCL, no cuDNN, no torch.compile.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils import backend_registration

NAME, N_DEVICES = "sim", 2
#: the rules that apply; `follow` changes them
rules = "cuda"
#: how often each line of fairground waited for the device
READS: Counter[str] = Counter()
#: operations whose result must be in main memory before the next line of Python can run
WAITING = {"_local_scalar_dense", "nonzero", "masked_select", "_unique2", "unique_dim"}
WAITING |= {"unique_consecutive", "bincount"}
#: operations that take operands of both kinds of memory
MIXED = {"copy_", "_to_copy", "index", "index_put", "index_put_", "_index_put_impl_", "lift_fresh"}
_at_work = threading.local()


def current() -> int:
    return getattr(_at_work, "number", 0)


class OnDevice(torch.Tensor):
    """`payload` has the numbers, `number` says which device they are on."""

    payload: torch.Tensor
    number: int
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, payload: torch.Tensor, number: int) -> "OnDevice":
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            payload.size(),
            strides=payload.stride(),
            storage_offset=payload.storage_offset(),
            dtype=payload.dtype,
            device=torch.device(NAME, 0),
        )
        made.payload, made.number = payload, number
        return made

    @property
    def device(self) -> torch.device:
        return torch.device(NAME, self.number)

    @classmethod
    def __torch_dispatch__(cls, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return launch(op, args, kwargs or {})

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        copied: Any = OnDevice(self.payload.detach().clone(), self.number).requires_grad_(self.requires_grad)
        memo[id(self)] = torch.nn.Parameter(copied, self.requires_grad) if is_parameter(self) else copied
        return memo[id(self)]

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() first.")

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        note_read()
        return self.payload.tolist()

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
        return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    def __repr__(self, **_: Any) -> str:
        return f"{self.payload!r} on {self.device}"


def is_parameter(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch.nn.Parameter)


def follow(kind: str) -> None:
    """Apply the rules of `cuda` or of `metal` from now on; fairground asks a device once whether it has float64."""
    from fairground.retrieval import has_float64

    global rules  # noqa: PLW0603
    rules = kind
    has_float64.cache_clear()


def note_read() -> None:
    frame = sys._getframe(1)
    while frame.f_back is not None and "/src/fairground/" not in frame.f_code.co_filename:
        frame = frame.f_back
    READS[f"{frame.f_code.co_filename.rpartition('/fairground/')[2]}:{frame.f_lineno}"] += 1


def numbered(device: Any) -> torch.device | None:
    """Return a device with its number, the current one of the thread where it has none; None where none is named."""
    named = None if device is None else torch.device(device)
    return torch.device(NAME, current()) if named is not None and named.type == NAME and named.index is None else named


def leaves(tree: Any) -> Iterator[Any]:
    """Yield what is in lists, tuples and dictionaries; torch's own walk takes longer than the operations here."""
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        for one in tree:
            yield from leaves(one)
    else:
        yield tree


def mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, list | tuple):
        return type(tree)([mapped(change, one) for one in tree])
    if isinstance(tree, dict):
        return {key: mapped(change, one) for key, one in tree.items()}
    return change(tree)


def launch(op: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Check the rules, compute in main memory, and say where the result is."""
    name = op._schema.name.partition("::")[2]
    tensors = [one for one in leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    ours = [one for one in tensors if isinstance(one, OnDevice)]
    target = numbered(kwargs.get("device"))
    if torch._C._current_graph_task_id() >= 0 or getattr(_at_work, "is_in_torch", False):
        # torch's own code knows one device only: what it makes, as in a backward pass, is where the last work was.
        _at_work.last = next((one.number for one in ours if one.dim()), getattr(_at_work, "last", 0))
        target = torch.device(NAME, _at_work.last) if target is not None and target.type == NAME else target
    place = target or next(
        (one.device for one in ours if one.dim() or len(ours) == 1), ours[0].device if ours else None
    )
    if name == "copy_":
        place = args[0].device
    check(name, args, tensors, ours, place)
    if name in WAITING or (place is not None and place.type == "cpu" and name in ("_to_copy", "copy_") and ours):
        note_read()
    plain = mapped(lambda one: one.payload if isinstance(one, OnDevice) else one, (args, kwargs))
    if "device" in kwargs:
        plain[1]["device"] = None if target is None else torch.device("cpu")
    plain[1].pop("pin_memory", None)
    is_here = place is not None and place.type == NAME
    if is_here and torch.Tag.nondeterministic_seeded in op.tags and kwargs.get("generator") is None:
        found = drawing(place.index, lambda: op(*plain[0], **plain[1]))
    else:
        found = op(*plain[0], **plain[1])
    known = {id(one.payload): one for one in ours}

    def located(one: Any) -> Any:
        if not isinstance(one, torch.Tensor) or id(one) in known:
            return known.get(id(one), one)
        if is_here and one.dtype == torch.float64 and rules == "metal":
            raise TypeError(f"Cannot convert a Tensor to float64: the device does not support it ({name})")
        return OnDevice(one, place.index) if is_here else one

    return mapped(located, found)


def check(name: str, args: Any, tensors: list[Any], ours: list[Any], place: torch.device | None) -> None:
    devices = {one.device for one in tensors if one.dim() or (one.device.type != "cpu" and len(ours) == 1)}
    if len(devices) > 1 and name not in MIXED:
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found {sorted(map(str, devices))} ({name})"
        )
    if name.startswith(("index", "_index_put")) and name != "index_add":
        indexed, others = args[0], [one for one in leaves(args[1]) if isinstance(one, torch.Tensor)]
        if any(one.device not in (indexed.device, torch.device("cpu")) for one in others):
            raise RuntimeError(f"indices should be either on cpu or on the device of the indexed tensor ({name})")
        if isinstance(indexed, OnDevice) and any(one.dtype == torch.bool for one in others):
            note_read()
    is_sum = name in ("cumsum", "put_", "histc") and bool(ours) and ours[0].is_floating_point()
    if is_sum and torch.are_deterministic_algorithms_enabled():
        raise RuntimeError(f"{name} does not have a deterministic implementation, but you set deterministic=True")
    for generator in (one for one in leaves(args) if isinstance(one, torch.Generator)):
        if place is not None and generator.device.type != place.type:
            raise RuntimeError(
                f"Expected a '{place.type}' device type for generator but found '{generator.device.type}'"
            )


class Generator(torch.Generator):
    """A generator that says on which device it draws; its numbers are those of the processor's."""

    def __new__(cls, device: Any = "cpu") -> "Generator":
        return super().__new__(cls, "cpu")

    def __init__(self, device: Any = "cpu") -> None:
        self._place = numbered(device)

    @property
    def device(self) -> Any:
        return self._place

    def manual_seed(self, seed: int) -> "Generator":
        super().manual_seed(seed)
        return self

    def set_state(self, state: torch.Tensor) -> "Generator":
        super().set_state(state)
        return self


class Module:
    """What torch.sim is: the functions that torch.cuda has, as far as fairground or torch ask for them."""

    streams = [torch.Generator().manual_seed(number) for number in range(N_DEVICES)]
    #: pretended bytes, so that a record has some
    peak = 0

    def is_initialized(self) -> bool:
        return True

    is_available = is_initialized

    def _is_in_bad_fork(self) -> bool:
        return False

    def current_device(self) -> int:
        return current()

    def device_count(self) -> int:
        return N_DEVICES

    def get_device_name(self, device: Any = None) -> str:
        return "Simulated Processor"

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def manual_seed_all(self, seed: int) -> None:
        for stream in self.streams:
            stream.manual_seed(seed)

    def get_rng_state(self, device: Any = NAME) -> torch.Tensor:
        return self.streams[self._number(device)].get_state()

    def set_rng_state(self, state: torch.Tensor, device: Any = NAME) -> None:
        self.streams[self._number(device)].set_state(state)

    def max_memory_allocated(self, device: Any = None) -> int:
        return 3 * 2**20

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        return

    def _number(self, device: Any) -> int:
        return device if isinstance(device, int) else numbered(device).index  # type: ignore[union-attr, return-value]


def drawing(number: int, compute: Any) -> Any:
    """Compute with the random stream of a device in the place of the processor's."""
    before, stream = torch.get_rng_state(), Module.streams[number]
    torch.set_rng_state(stream.get_state())
    try:
        return compute()
    finally:
        stream.set_state(torch.get_rng_state())
        torch.set_rng_state(before)


def in_torch(function: Any) -> Any:
    def called(*args: Any, **kwargs: Any) -> Any:
        _at_work.is_in_torch, _at_work.last = True, current()
        try:
            return function(*args, **kwargs)
        finally:
            _at_work.is_in_torch = False

    return called


def install() -> None:
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=Module())
    torch.accelerator.device_count = lambda: N_DEVICES
    torch.accelerator.current_device_index = current
    torch.accelerator.set_device_index = lambda number: setattr(_at_work, "number", number)
    library = torch.library.Library("_", "IMPL")
    library.fallback(lambda op, *args, **kwargs: launch(op, args, kwargs), "PrivateUse1")
    aten = torch.library.Library("aten", "IMPL")
    for name in ("arange", "arange.start", "arange.start_step", "eye", "eye.m", "linspace"):
        # torch would make these of no size and then enlarge them.
        op = torch.ops.aten
        for part in (name if "." in name else f"{name}.default").split("."):
            op = getattr(op, part)
        aten.impl(name, lambda *args, op=op, **kwargs: launch(op, args, kwargs), "PrivateUse1")
    autocast = torch.library.Library("_", "IMPL")
    autocast.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    install.kept = (library, aten, autocast)  # type: ignore[attr-defined]
    torch.Generator = Generator  # type: ignore[misc]
    for name in ("__init__", "forward"):
        setattr(DistributedDataParallel, name, in_torch(getattr(DistributedDataParallel, name)))
    init = torch.distributed.init_process_group
    torch.distributed.init_process_group = lambda _=None, **options: init("gloo", **options)
    plain = torch.tensor

    def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> torch.Tensor:
        # The constructor fills its memory directly, which here is elsewhere.
        return plain(data, dtype=dtype).to(device).requires_grad_(requires_grad)

    torch.tensor = tensor  # type: ignore[assignment]


install()
# In the thread that asks for it, so that a refusal reaches the caller.
torch.autograd.set_multithreading_enabled(False)
