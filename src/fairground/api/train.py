"""Train one run: find it or make it, with its store, its loggers and its progress; stopped, it goes on later."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from fairground.api.home import home_folder
from fairground.api.progress.training import training_progress
from fairground.api.run import Run
from fairground.api.words import Setting, words_of
from fairground.errors import require
from fairground.loggers.feed import Feed, fed
from fairground.records.artefacts import RunFolder
from fairground.records.folders import resolve_run
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.records.stored_spec import stored_spec
from fairground.spec.identity import name_of
from fairground.spec.load import COMMAND_LINE, load_run
from fairground.spec.run import RunSpec

if TYPE_CHECKING:
    from fairground.training.process_group import ProcessGroup


def train(
    protocol: str | None = None,
    *,
    config: str | os.PathLike[str] | None = None,
    like: str | Run | None = None,
    home: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    doctor: bool = True,
    loggers: Sequence[str] = (),
    quiet: bool = False,
    **settings: Setting,
) -> Run:
    """Train one model and measure it on the sealed test classes; return its run.

    The keywords are the words of `fairground train`: a component by name (`loss="margin"`), a table of settings
    (`optimiser={"lr": 3e-4}`), or a dotted word (`**{"loss.beta": 1.2}`). The same words give the same run with the
    same name, and a run that is done is returned, not trained again. After Ctrl-C, which ends training after the batch
    under way, the same call goes on from there.

    `config` is a TOML file to start from, `like` an earlier run whose spec to start from; `loggers` are among
    "tensorboard", "wandb" and "mlflow". A run that diverged is returned too: look at `run.state`.
    """
    folder, like_name = home_folder(home), like.name if isinstance(like, Run) else like
    file = None if config is None else Path(config)
    spec = run_spec(protocol, file, like_name, words_of(settings), home=folder, origin="the call")
    return train_spec(spec, home=folder, threads=threads, doctor=doctor, loggers=loggers, quiet=quiet)


def run_spec(
    protocol: str | None,
    config: Path | None,
    like: str | None,
    words: Sequence[str],
    *,
    home: Path,
    origin: str = COMMAND_LINE,
) -> RunSpec:
    """Return the spec said by a protocol and a file, or by an earlier run, with what the words change."""
    if like is None:
        return load_run(protocol=protocol, file=config, overrides=words, origin=origin)
    require(protocol is None and config is None, "`like` starts from a run: leave the protocol and the config out")
    return spec_of_run(like, home, words, origin=origin)


def spec_of_run(run: str, home: Path, words: Sequence[str] = (), *, origin: str = COMMAND_LINE) -> RunSpec:
    """Return the spec of a run that was begun, with what the words change."""
    folder = RunFolder(home, resolve_run(home, run))
    return stored_spec(folder, words, origin=origin)


def train_spec(
    spec: RunSpec,
    *,
    home: Path,
    threads: int | None = None,
    doctor: bool = True,
    loggers: Sequence[str] = (),
    quiet: bool = False,
) -> Run:
    """Return the run of a spec, trained from wherever it is; raise `StoppedError` when it is stopped."""
    require(threads is None or threads >= 1, f"threads must be at least 1; got {threads}")
    store, name = Store(home), name_of(spec)
    with fed(list(loggers) if is_leader() else [], home) as feed:
        with _joined() as group:
            stored = _agreed(group, lambda: store.get(name).to_json() if name in store.names(state="done") else None)
            if stored is None:
                record = _train(spec, store, group, feed, threads=threads, doctor=doctor, quiet=quiet)
            else:
                record = RunRecord.from_json(stored)
        if is_leader():
            if stored is None:
                store.append(record)
            feed.finished(record)
    return Run(record=record, home=home, is_new=stored is None)


def is_leader() -> bool:
    """Tell whether this process writes files and prints: of those that torchrun started, the first does."""
    return os.environ.get("RANK", "0") == "0"


def _joined() -> "AbstractContextManager[ProcessGroup | None]":
    """Join the other processes, where torchrun started several."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return nullcontext()
    from fairground.training.torchrun import joined

    return joined()


def _agreed(group: "ProcessGroup | None", find: Callable[[], Any]) -> Any:
    return find() if group is None else group.broadcast_object(find)


def _train(
    spec: RunSpec,
    store: Store,
    group: "ProcessGroup | None",
    feed: Feed,
    *,
    threads: int | None,
    doctor: bool,
    quiet: bool,
) -> RunRecord:
    from fairground.training.process_group import ALONE
    from fairground.training.run import run

    group, name = group or ALONE, name_of(spec)
    title, is_quiet = f"{spec.loss.name} {name}", quiet or not group.is_leader
    with (
        _threads(threads),
        training_progress(title, select_by=spec.evaluation.select_by, is_quiet=is_quiet) as listen,
        _stop_flag() as should_stop,
    ):
        return run(
            spec,
            home=store.root,
            listen=feed.with_events(listen, run=name),
            should_stop=should_stop,
            witness=(lambda what: store.note_event("test opened", name, what)) if group.is_leader else None,
            group=group,
            is_watched=doctor,
        )


@contextmanager
def _threads(n: int | None) -> Iterator[None]:
    """Let torch use `n` threads while a run lasts; a resumed run sets its own number, which is undone as well."""
    import torch

    before = torch.get_num_threads()
    if n is not None:
        torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _stop_flag() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C end training cleanly after the batch under way; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        # Signals reach the main thread alone.
        yield lambda: False
        return
    is_asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked
        if is_asked:
            raise KeyboardInterrupt
        is_asked = True

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: is_asked
    finally:
        signal.signal(signal.SIGINT, before)
