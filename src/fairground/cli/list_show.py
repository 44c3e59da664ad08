"""`fairground list` and `fairground show`: what there is, without importing any of it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.cli.options import HOME, AsJson, Home

HELP_ORDER = 150

if TYPE_CHECKING:
    from fairground.records.record import RunRecord


def list_things(
    room: Annotated[
        str | None,
        typer.Argument(
            help="losses, miners, samplers, ... or `runs`, `protocols`, `rules` or `flags` of fairness; all rooms when "
            "left out."
        ),
    ] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """List components with one line about each; or the runs made so far.

    Examples: fairground list · fairground list losses · fairground list runs
    """
    from fairground.catalogue import ROOMS, list_room

    if room is None:
        found = {name: f"{len(list_room(name))} of them" for name in ROOMS} | {"runs": "what was trained here"}
    elif room == "runs":
        _list_runs(home, as_json)
        return
    elif room == "protocols":
        from fairground.spec.load import protocol_names

        found = dict(protocol_names())
    elif room in ("rules", "flags"):
        found = _fairness(room)
    else:
        found = list_room(room)
    if as_json:
        print(json.dumps(found))
        return
    width = max((len(name) for name in found), default=0)
    for name, line in found.items():
        print(f"{name:<{width}}  {line}".rstrip())


def _fairness(table: str) -> dict[str, str]:
    """Return what must agree before methods may share a table, or what a reader must know of those that do."""
    from fairground.fairness.flags import FLAGS
    from fairground.fairness.rules import RULES

    if table == "flags":
        return {flag.name: flag.raised_when for flag in FLAGS}
    return {rule.name: f"{rule.compares}. Why: {rule.reason}" for rule in RULES}


def _list_runs(home: Path, as_json: bool) -> None:
    from fairground.records.folders import run_folders
    from fairground.records.store import Store

    records = {record.name: record for record in Store(home).records()}
    states = {name: records[name].state if name in records else "unfinished" for name in {*run_folders(home), *records}}
    if as_json:
        print(json.dumps(states, sort_keys=True))
        return
    for name, state in sorted(states.items()):
        about = _about(records[name]) if name in records else f"go on with: fairground resume {name}"
        print(f"{name}  {state:<10}  {about}")


def _about(record: "RunRecord") -> str:
    parts = [record.spec["loss"], record.spec["miner"], record.spec["data"]]
    names = [str(part["name"]) for part in parts if isinstance(part, dict)]
    metric = "map@r" if record.selection is None else record.selection.metric
    score = record.score(metric)
    return f"{' '.join(names)} seed {record.spec['seed']}" + ("" if score is None else f"  test {metric} {score:.4f}")


def show(
    run: Annotated[str, typer.Argument(help="The run's name, or enough of its beginning.")],
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Show what a run was asked, what happened, and what it scored.

    Example: fairground show 3f2a
    """
    from fairground.records.store import Store

    print_record(Store(home).get(run), as_json=as_json)


def print_record(record: "RunRecord", *, as_json: bool) -> None:
    """Print a record for a person, or as JSON for a program."""
    if as_json:
        print(record.to_json())
        return
    loss, data = record.spec["loss"], record.spec["data"]
    assert isinstance(loss, dict)
    assert isinstance(data, dict)
    print(f"run {record.name}: {loss['name']} on {data['name']}, seed {record.spec['seed']}, {record.state}")
    if record.failure:
        print(f"  {record.failure}")
    for row in record.epochs:
        trained = "untrained" if row.loss is None else f"loss {row.loss:.4f}"
        mark = "  <- selected" if row.epoch == record.best_epoch else ""
        scores = "  ".join(f"{name} {value:.4f}" for name, value in row.validation.items())
        print(f"  epoch {row.epoch:>3}  {trained:<14}  {scores}{mark}")
    for split in ("validation", "test"):
        scores = "  ".join(f"{score.metric} {score.value:.4f}" for score in record.scores if score.split == split)
        if scores:
            print(f"  {split:<10}  {scores}")
    for note in record.notes:
        print(f"  note: {note}")
    for finding in record.findings:
        print(f"  doctor: {finding.text}")
    origin = record.provenance
    memory = origin.peak_memory_bytes / 2**20
    took = f"{origin.wall_seconds:.1f} s" + (
        f" ({origin.cpu_seconds:.1f} s of processor)" if origin.cpu_seconds else ""
    )
    print(f"  {took}, {memory:.0f} MB, {origin.threads} threads, fairground {origin.fairground}")


COMMANDS = {"list": list_things, "show": show}
