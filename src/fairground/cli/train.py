"""`fairground train` and `fairground resume`: one run, from a spec or from where it stopped."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home, Quiet, Sinks, Threads, WithDoctor

if TYPE_CHECKING:
    from fairground.loggers.feed import Feed
    from fairground.records.record import RunRecord
    from fairground.records.store import Store
    from fairground.spec.run import RunSpec
    from fairground.training.distributed.process_group import ProcessGroup


def train(
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="What to change: loss=triplet loss.margin=0.1 seed=3"),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", "-p", help="The protocol to start from (default: laptop).")
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A TOML file with a whole or partial spec.")
    ] = None,
    like: Annotated[
        str | None, typer.Option("--like", metavar="RUN", help="Start from the spec of an earlier run instead.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the complete spec and its name, and stop.")] = False,
    home: Home = HOME,
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    doctor: WithDoctor = True,
    sinks: Sinks = None,
) -> None:
    """Train one model and measure it on the sealed test classes.

    A run is named by the hash of its complete spec: the same words give the same run, and a run that is already done is
    shown, not trained again. `fairground list losses` (miners, samplers, ...) shows what can be named.

    Try: fairground train loss=triplet loss.margin=0.1 miner=distance_weighted seed=3

    Or: fairground train --config my_run.toml training.epochs=20

    Or: fairground train --like 3f2a training.epochs=40

    Or, one training on several processors: torchrun --nproc-per-node 2 -m fairground train loss=triplet
    """
    from fairground.cli.protocol import card_text
    from fairground.errors import require
    from fairground.spec.card import declaration
    from fairground.spec.identity import name_of, to_plain
    from fairground.spec.load import load_run

    if like is None:
        spec = load_run(protocol=protocol, file=config, overrides=overrides or [])
    else:
        require(protocol is None and config is None, "--like starts from a run: leave --protocol and --config out")
        spec = _spec_of(like, home, overrides or [])
    if dry_run:
        print(json.dumps({"name": name_of(spec), "spec": to_plain(spec)}, indent=None if as_json else 2))
        return
    if not (quiet or as_json or int(os.environ.get("RANK", "0"))):
        print(card_text(declaration(spec)), end="\n\n", file=sys.stderr)
    _work(spec, home=home, threads=threads, as_json=as_json, is_quiet=quiet, is_watched=doctor, sinks=sinks)


def resume(
    run: Annotated[str, typer.Argument(help="The run's name, or enough of its beginning.")],
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
    doctor: WithDoctor = True,
    sinks: Sinks = None,
) -> None:
    """Go on with a run that was stopped or killed; it ends with the digits it would have had anyway.

    Example: fairground resume 3f2a
    """
    spec = _spec_of(run, home)
    _work(spec, home=home, threads=None, as_json=as_json, is_quiet=quiet, is_watched=doctor, sinks=sinks)


def _spec_of(run: str, home: Path, overrides: list[str] | None = None) -> "RunSpec":
    from fairground.records.artefacts import RunFolder
    from fairground.records.folders import resolve_run
    from fairground.records.stored_spec import stored_spec

    return stored_spec(RunFolder(home, resolve_run(home, run)), overrides or [])


def _work(
    spec: "RunSpec",
    *,
    home: Path,
    threads: int | None,
    as_json: bool,
    is_quiet: bool,
    is_watched: bool,
    sinks: list[str] | None,
) -> None:
    from fairground.cli.list_show import print_record
    from fairground.loggers.feed import fed
    from fairground.records.store import Store
    from fairground.spec.identity import name_of

    name = name_of(spec)
    store = Store(home)
    is_leader = os.environ.get("RANK", "0") == "0"
    with fed(sinks or [] if is_leader else [], home) as feed:
        with _joined() as crew:
            is_done = _is_done(name, store) if crew is None else crew.agree(lambda: _is_done(name, store))
            record = (
                None
                if is_done
                else _run(spec, store, crew, feed, threads=threads, is_quiet=is_quiet or as_json, is_watched=is_watched)
            )
            if crew is not None and not crew.is_leader:
                return
        if record is not None:
            store.append(record)
        elif not as_json:
            print(f"run {name} is already done; here is its record", file=sys.stderr)
        record = record or store.get(name)
        feed.finished(record)
    print_record(record, as_json=as_json)
    if record.state != "done":
        raise typer.Exit(1)


def _is_done(name: str, store: "Store") -> bool:
    return name in store.names(state="done")


def _joined() -> "AbstractContextManager[ProcessGroup | None]":
    """Join the other processes, where torchrun started several."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return nullcontext()
    from fairground.training.distributed.torchrun import joined

    return joined()


def _run(
    spec: "RunSpec",
    store: "Store",
    crew: "ProcessGroup | None",
    feed: "Feed",
    *,
    threads: int | None,
    is_quiet: bool,
    is_watched: bool,
) -> "RunRecord":
    import torch

    from fairground.cli.progress import training_progress
    from fairground.spec.identity import name_of
    from fairground.training.distributed.process_group import ALONE
    from fairground.training.loop import StoppedError
    from fairground.training.run import run

    if threads is not None:
        torch.set_num_threads(threads)
    crew = crew or ALONE
    name = name_of(spec)
    title = f"{spec.loss.name} {name}"
    try:
        with (
            training_progress(
                title, select_by=spec.evaluation.select_by, is_quiet=is_quiet or not crew.is_leader
            ) as listen,
            _stop_flag() as should_stop,
        ):
            return run(
                spec,
                home=store.root,
                listen=feed.beside(listen, run=name),
                should_stop=should_stop,
                witness=(lambda what: store.note_event("test opened", name, what)) if crew.is_leader else None,
                crew=crew,
                is_watched=is_watched,
            )
    except StoppedError:
        if not crew.is_leader:
            raise typer.Exit(130) from None
        where = "" if store.root == HOME else f" --home {store.root}"
        print(f"stopped; nothing is lost. Go on with: fairground resume {name}{where}", file=sys.stderr)
        raise typer.Exit(130) from None


@contextmanager
def _stop_flag() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C end training cleanly after the batch under way; a second one ends it at once."""
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
