"""`fg.train`, `fairground train` and `fairground resume`: find a run or make it; a stopped run continues later."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from fairground import training
from fairground.commands import Answer, AnyPath, Run, Verbatim, options, options_of, record_lines, run_directory
from fairground.commands.interrupts import stop_flag
from fairground.commands.keyword_overrides import Setting, keyword_overrides
from fairground.commands.terminal import card_text
from fairground.commands.training_and_study_progress import training_progress
from fairground.loggers.feed import fed
from fairground.records import RunFolder, RunRecord, Store, content_of, require_unchanged, resolve_run, stored_spec
from fairground.records.training_events import Event, Listener
from fairground.spec import COMMAND_LINE, Overrides, RunSpec, load_run, name_of, parse_overrides, require, to_plain
from fairground.spec.declaration_card import card_of


def train(
    protocol: Annotated[str | None, "-p", "Protocol to start from (default: laptop)."] = None,
    *,
    config: options.Config = None,
    like: Annotated[str | Run | None, "Start from the spec of an earlier run instead.", {"metavar": "RUN"}] = None,
    home: run_directory.AnyHome = None,
    device: options.Device = "auto",
    threads: options.Threads = None,
    doctor: options.WithDoctor = True,
    loggers: options.Loggers = (),
    again: options.Again = False,
    quiet: options.Quiet = False,
    callbacks: Sequence[Listener] = (),
    **settings: Setting,
) -> Run:
    """Train one model and measure it on held-out test classes; return its run.

    The keywords are the overrides of `fairground train`: a component by name (`loss="margin"`), a table of settings
    (`optimiser={"lr": 3e-4}`), or a dotted name (`**{"loss.beta": 1.2}`). A component may be a Python object: a module,
    a class or function, a data set, a pair of images and labels. The same overrides give the same run with the same
    name, and a finished run is returned, not trained again. Ctrl-C stops training after the current batch; the same
    call continues from there. A run whose data, weights or outside code have changed since is refused; `again` trains
    it from the beginning and keeps its old record as history.

    `config` is a TOML file to start from, `like` an earlier run whose spec to start from; `loggers` are among
    "tensorboard", "wandb" and "mlflow"; `callbacks` are called with every event of `records.training_events`. A run
    that diverged is returned too: look at `run.state`.
    """
    folder = run_directory.home_folder(home)
    spec = _spec(keyword_overrides(settings), folder, "the call", protocol=protocol, config=config, like=like)
    how: dict[str, Any] = {"device": device, "threads": threads, "doctor": doctor, "loggers": loggers, "quiet": quiet}
    return train_spec(spec, home=folder, again=again, callbacks=callbacks, **how)


def _spec(
    overrides: Overrides,
    home: Path,
    origin: str = COMMAND_LINE,
    *,
    protocol: str | None = None,
    config: AnyPath | None = None,
    like: str | Run | None = None,
) -> RunSpec:
    """Return the spec of a protocol and a file, or of an earlier run, with the overrides applied."""
    if like is None:
        file = None if config is None else Path(config)
        return load_run(protocol=protocol, file=file, overrides=overrides, origin=origin)
    require(protocol is None and config is None, "`like` starts from a run: leave the protocol and the config out")
    name = like.name if isinstance(like, Run) else resolve_run(home, like)
    return stored_spec(RunFolder(home, name), overrides, origin=origin)


def train_spec(
    spec: RunSpec,
    *,
    home: Path,
    device: str = "auto",
    threads: int | None = None,
    doctor: bool = True,
    loggers: Sequence[str] = (),
    again: bool = False,
    quiet: bool = False,
    callbacks: Sequence[Listener] = (),
) -> Run:
    """Return the run of a spec, trained from wherever it is; raise `StoppedError` when it is stopped."""
    require(threads is None or threads >= 1, f"threads must be at least 1; got {threads}")
    store, name = Store(home), name_of(spec)

    def finished() -> RunRecord | None:
        if again:
            store.begin_again(name, "asked for")
        record = next(store.records(name=name, state="done"), None)
        if record is not None:
            # Importing torch takes seconds: it waits until data must be looked at.
            require_unchanged(name, record.content, content_of(spec, lambda: training.content_of_data(spec)))
        return record

    def train_now(group: "training.ProcessGroup") -> RunRecord:
        from fairground.training.run import run

        with (
            training.torch_threads(threads),
            training_progress(f"{spec.loss.name} {name}", select_by=spec.evaluation.select_by, is_quiet=quiet) as show,
            stop_flag() as should_stop,
        ):

            def tell(event: Event) -> None:
                for listener in (show, *callbacks):
                    listener(event)

            return run(
                spec,
                home=home,
                listen=feed.after(tell, run=name),
                should_stop=should_stop,
                witness=(lambda what: store.note_event("test opened", name, what)) if group.is_leader else None,
                group=group,
                is_watched=doctor,
                device=device,
            )

    if not is_leader():
        loggers, callbacks, quiet = (), (), True
    is_alone = os.environ.get("WORLD_SIZE", "1") == "1"
    with fed(loggers, home) as feed:
        with nullcontext() if is_alone else training.joined(device) as group:
            stored: RunRecord | None = finished() if group is None else group.broadcast_object(finished)
            record = stored or train_now(group or training.ALONE)
        if is_leader():
            if stored is None:
                store.append(record)
            feed.finished(record)
    return Run(record=record, home=home, is_new=stored is None)


def is_leader() -> bool:
    """Tell whether this process writes files and prints: the first of those that torchrun started does."""
    return os.environ.get("RANK", "0") == "0"


@options_of(train)
def train_command(
    home: Path,
    protocol: str | None,
    config: AnyPath | None,
    like: str | None,
    overrides: options.Overrides = (),
    dry_run: Annotated[bool, "Print the complete spec and its name, and stop."] = False,
    **settings: Any,
) -> Answer | None:
    """Train one model and measure it on held-out test classes.

    A run is named by the hash of its complete spec: the same overrides give the same run, and a finished run is shown,
    not trained again. `fairground list losses` (miners, samplers, ...) shows the available components.

    Examples: fairground train loss=triplet loss.margin=0.1 miner=distance_weighted seed=3 ·
    fairground train --config my_run.toml training.epochs=20 · fairground train --like 3f2a training.epochs=40

    Or, one training on several processors: torchrun --nproc-per-node 2 -m fairground train loss=triplet
    """
    spec = _spec(parse_overrides(overrides), home, protocol=protocol, config=config, like=like)
    if dry_run:
        plain = {"name": name_of(spec), "spec": to_plain(spec)}
        return Answer(plain, [Verbatim(json.dumps(plain, indent=2))])
    if is_leader() and not settings["quiet"]:
        print(card_text(card_of(spec)), end="\n\n", file=sys.stderr)
    return _trained(spec, home, **settings)


def resume(
    run: Annotated[str, "RUN", "Name of the run, or the beginning of it."],
    home: run_directory.Home = run_directory.HOME,
    quiet: options.Quiet = False,
    device: options.Device = "auto",
    doctor: options.WithDoctor = True,
    loggers: options.Loggers = (),
) -> Answer | None:
    """Continue a run that was stopped or killed; results are bit-identical to those of an uninterrupted run.

    Example: fairground resume 3f2a
    """
    return _trained(_spec({}, home, like=run), home, quiet=quiet, device=device, doctor=doctor, loggers=loggers)


def _trained(spec: RunSpec, home: Path, **settings: Any) -> Answer | None:
    """Train, and return what the one process that prints prints; `settings` are those of `train_spec`."""
    try:
        run = train_spec(spec, home=home, **settings)
    except KeyboardInterrupt as stop:
        if not isinstance(stop, training.StoppedError):  # a second Ctrl-C, which waits for nothing
            raise
        command = f"fairground resume {name_of(spec)}{run_directory.home_argument(home)}"
        stopped = f"stopped; nothing is lost. Continue with: {command}" if is_leader() else ""
        return Answer(None, failure=stopped, exit_code=130)
    if not is_leader():
        return None
    if not (run.is_new or settings["quiet"]):
        print(f"run {run.name} is already finished; here is its record", file=sys.stderr)
    return Answer(json.loads(run.record.to_json()), record_lines(run.record), exit_code=int(run.state != "done"))
