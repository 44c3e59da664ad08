"""Every loss against its counterpart in pytorch-metric-learning, every kernel against its formula; and peak memory.

Peers are functions equal to ours (`benchmarks.peers`). SmoothAP has none: the peer's is another function unless there
are as many classes as samples in each.
"""

import json
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import perf_counter

import torch
from tests.losses.fixtures import build
from torch import nn

from benchmarks.harness import Table, best_times, geometric_mean, milliseconds
from benchmarks.peers import PEERS
from fairground.contracts import Loss, LossInputs
from fairground.spec.catalogue import list_room

DIMENSION = 128
NONE = "\N{EN DASH}"
#: a peer slower than this many seconds is run once: its ratio needs no second digit
SLOW = 1.0
#: losses whose memory is shown
LARGE = ("triplet", "margin", "n_pair", "nt_xent", "quadruplet")


def tables() -> Iterator[Table]:
    """Yield one table for each batch size, that of the kernels and that of memory."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield _speed(112, 2)
        yield _speed(512, 4)
        yield _kernels(112, 2)
        yield _memory(4096, 4)
    finally:
        torch.set_num_threads(threads)


def _batch(size: int, per_class: int) -> tuple[torch.Tensor, torch.Tensor]:
    embeddings = torch.randn(size, DIMENSION, generator=torch.Generator().manual_seed(0)).requires_grad_()
    return embeddings, torch.arange(size // per_class).repeat_interleave(per_class)


def _step(loss: nn.Module, embeddings: torch.Tensor, labels: torch.Tensor) -> Callable[[], None]:
    return _backward(loss, loss, embeddings, labels)


def _backward(
    value: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    loss: nn.Module,
    embeddings: torch.Tensor,
    labels: torch.Tensor,
) -> Callable[[], None]:
    learned = [embeddings, *loss.parameters()]

    def run() -> None:
        for tensor in learned:
            tensor.grad = None
        value(embeddings, labels).backward()  # type: ignore[no-untyped-call]

    return run


def _speed(size: int, per_class: int) -> Table:
    n_classes = size // per_class
    embeddings, labels = _batch(size, per_class)
    rows, ratios = [], []
    for name in list_room("losses"):
        torch.manual_seed(0)
        settings, peer = PEERS.get(name, ({}, None))
        ours = _step(build(name, n_classes=n_classes, embedding_dim=DIMENSION, **settings), embeddings, labels)
        if peer is None:
            rows.append([name, milliseconds(best_times({"ours": ours})["ours"]), NONE, NONE])
            continue
        times = _race(ours, _step(peer(n_classes, DIMENSION), embeddings, labels))
        ratio = times["theirs"] / times["ours"]
        ratios.append(ratio)
        rows.append([name, milliseconds(times["ours"]), milliseconds(times["theirs"]), f"{ratio:.1f}x"])
    rows.append(["**geometric mean**", "", "", f"**{geometric_mean(ratios):.1f}x**"])
    rows.append(["slowest ratio", "", "", f"{min(ratios):.2f}x"])
    return Table(
        title=f"Losses at batch {size}, {per_class} per class",
        note=f"Forward and backward, {DIMENSION} dimensions, {n_classes} classes, float32, one thread.",
        header=["loss", "fairground, ms", "pytorch-metric-learning, ms", "times faster"],
        rows=rows,
    )


def _race(ours: Callable[[], None], theirs: Callable[[], None]) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = perf_counter()
        theirs()
        first = perf_counter() - begun
        if first > SLOW:
            return {**best_times({"ours": ours}), "theirs": first}
        return best_times({"ours": ours, "theirs": theirs})


def _kernels(size: int, per_class: int) -> Table:
    n_classes = size // per_class
    embeddings, labels = _batch(size, per_class)
    rows = []
    for name in list_room("losses"):
        torch.manual_seed(0)
        loss = build(name, n_classes=n_classes, embedding_dim=DIMENSION)
        assert isinstance(loss, Loss)
        with torch.no_grad():
            has_kernel = loss.kernel(LossInputs(embeddings, labels)) is not None
        if not has_kernel:
            continue
        formula = partial(loss.formula, tuples=None, generator=None)
        times = best_times(
            {"kernel": _step(loss, embeddings, labels), "formula": _backward(formula, loss, embeddings, labels)}
        )
        ratio = times["formula"] / times["kernel"]
        rows.append([name, milliseconds(times["kernel"]), milliseconds(times["formula"]), f"{ratio:.1f}x"])
    return Table(
        title=f"Kernels against formulas at batch {size}, {per_class} per class",
        note=f"Forward and backward, {DIMENSION} dimensions, {n_classes} classes, float32, one thread.",
        header=["loss", "kernel, ms", "formula, ms", "times faster"],
        rows=rows,
    )


def _memory(size: int, per_class: int) -> Table:
    rows = []
    for name in ("nothing", *LARGE):
        command = [sys.executable, "-m", "benchmarks.losses", name, str(size), str(per_class)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        seconds = NONE if name == "nothing" else f"{found['seconds']:.2f}"
        rows.append([name, f"{found['peak'] / 2**20:.0f}", seconds])
    return Table(
        title=f"Peak memory of a loss at batch {size}, {per_class} per class",
        note=f"Forward and backward over all tuples, {DIMENSION} dimensions, float32, one thread, a process each; "
        "`nothing` is the process with its batch and no loss.",
        header=["loss", "peak resident memory, MiB", "seconds"],
        rows=rows,
    )


def _measure(name: str, size: int, per_class: int) -> None:
    """Run one loss once and print its time and the peak memory of this process."""
    torch.set_num_threads(1)
    embeddings, labels = _batch(size, per_class)
    seconds = 0.0
    if name != "nothing":
        loss = build(name, n_classes=size // per_class, embedding_dim=DIMENSION)
        # Compiled loops are loaded before the clock starts.
        _step(loss, *_batch(8, 2))()
        run = _step(loss, embeddings, labels)
        begun = perf_counter()
        run()
        seconds = perf_counter() - begun
    print(json.dumps({"peak": _peak_bytes(), "seconds": seconds}))


def _peak_bytes() -> int:
    """Return the largest resident memory this process has had."""
    status = Path("/proc/self/status")
    if status.exists():
        # Unlike the count of `getrusage`, this one does not begin with the parent's.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    _measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
