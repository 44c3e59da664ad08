"""`fairground train` and `fairground resume`: one run, from a spec or from where it stopped."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home, Loggers, Quiet, Threads, WithDoctor, kept_for_json

HELP_ORDER = 30

if TYPE_CHECKING:
    from fairground.spec.run import RunSpec


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
    loggers: Loggers = None,
) -> None:
    """Train one model and measure it on the sealed test classes.

    A run is named by the hash of its complete spec: the same words give the same run, and a run that is already done is
    shown, not trained again. `fairground list losses` (miners, samplers, ...) shows what can be named.

    Try: fairground train loss=triplet loss.margin=0.1 miner=distance_weighted seed=3

    Or: fairground train --config my_run.toml training.epochs=20

    Or: fairground train --like 3f2a training.epochs=40

    Or, one training on several processors: torchrun --nproc-per-node 2 -m fairground train loss=triplet
    """
    from fairground.api.train import is_leader, run_spec
    from fairground.cli.protocol import card_of, card_text
    from fairground.spec.identity import name_of, to_plain

    spec = run_spec(protocol, config, like, overrides or [], home=home)
    if dry_run:
        print(json.dumps({"name": name_of(spec), "spec": to_plain(spec)}, indent=None if as_json else 2))
        return
    if is_leader() and not (quiet or as_json):
        print(card_text(card_of(spec)), end="\n\n", file=sys.stderr)
    _train(spec, home=home, threads=threads, as_json=as_json, quiet=quiet, doctor=doctor, loggers=loggers)


def resume(
    run: Annotated[str, typer.Argument(help="The run's name, or enough of its beginning.")],
    home: Home = HOME,
    as_json: AsJson = False,
    quiet: Quiet = False,
    doctor: WithDoctor = True,
    loggers: Loggers = None,
) -> None:
    """Go on with a run that was stopped or killed; it ends with the digits it would have had anyway.

    Example: fairground resume 3f2a
    """
    from fairground.api.train import spec_of_run

    spec = spec_of_run(run, home)
    _train(spec, home=home, threads=None, as_json=as_json, quiet=quiet, doctor=doctor, loggers=loggers)


def _train(
    spec: "RunSpec",
    *,
    home: Path,
    threads: int | None,
    as_json: bool,
    quiet: bool,
    doctor: bool,
    loggers: list[str] | None,
) -> None:
    """Train, and print the record in the one process that prints."""
    from fairground.api.train import is_leader, train_spec
    from fairground.cli.list_show import print_record

    try:
        with kept_for_json(as_json):
            run = train_spec(
                spec, home=home, threads=threads, doctor=doctor, loggers=loggers or [], quiet=quiet or as_json
            )
    except KeyboardInterrupt as stop:
        _print_stop(spec, home, stop)
        raise typer.Exit(130) from None
    if not is_leader():
        return
    if not (run.is_new or as_json):
        print(f"run {run.name} is already done; here is its record", file=sys.stderr)
    print_record(run.record, as_json=as_json)
    if run.state != "done":
        raise typer.Exit(1)


def _print_stop(spec: "RunSpec", home: Path, stop: KeyboardInterrupt) -> None:
    """Say how to go on; a second Ctrl-C, which waits for nothing, is left to whoever called."""
    from fairground.api.train import is_leader
    from fairground.spec.identity import name_of
    from fairground.training.loop import StoppedError

    if not isinstance(stop, StoppedError):
        raise stop
    if is_leader():
        where = "" if home == HOME else f" --home {shlex.quote(str(home))}"
        print(f"stopped; nothing is lost. Go on with: fairground resume {name_of(spec)}{where}", file=sys.stderr)


COMMANDS = {"train": train, "resume": resume}
