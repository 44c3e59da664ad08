"""`fairground list` and `fairground show`: what there is, without importing any of it."""

import json
import shlex
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home
from fairground.commands.terminal import fitted, print_fitted, print_listed, screen_width, terminal_width

if TYPE_CHECKING:
    from fairground.records.record import RunRecord
    from fairground.records.store import RunSummary


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
    from fairground.spec.catalogue import ROOMS, list_room

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
    print_listed(found)


def _fairness(table: str) -> dict[str, str]:
    """Return what must agree before methods may share a table, or what a reader must know of those that do."""
    from fairground.comparison.fairness_flags import FLAGS
    from fairground.comparison.fairness_rules import RULES

    if table == "flags":
        return {flag.name: flag.raised_when for flag in FLAGS}
    return {rule.name: f"{rule.compares}. {rule.why}" for rule in RULES}


def _list_runs(home: Path, as_json: bool) -> None:
    from fairground.records.index import changes
    from fairground.records.run_folder import folder_names
    from fairground.records.store import Store
    from fairground.reporting.headings import with_unit
    from fairground.spec.identity import OWN_DATA, data_name, method_name

    store = Store(home)
    runs = {run.name: run for run in store.summaries()}
    kinds = {run.dataset for run in runs.values()}
    others = folder_names(home) - runs.keys()
    states: dict[str, str] = {name: "unfinished" for name in others if (home / "runs" / name / "spec.json").exists()}
    states |= dict.fromkeys(changes(home, others), "damaged")
    states |= {name: run.state for name, run in runs.items()}
    if as_json:
        print(json.dumps(states, sort_keys=True))
        return
    if not states:
        print_fitted(f"no runs in {home} yet; `fairground train` makes one, --home names another place")
    some = [kind for kind in OWN_DATA if kind in kinds]
    # Of a user's own data a list says which, and what was not trained on it; of the others the columns say enough.
    own = {
        name: f"{method_name(spec)} {data_name(spec['data'])}"
        for name, spec in (store.specs_of(some) if some else {}).items()
    }
    lines, width = [], screen_width()
    where = "" if home == HOME else f" --home {shlex.quote(str(home))}"
    for name, state in sorted(states.items()):
        if name in runs:
            about = _about(runs[name], own.get(name), with_unit)
        else:
            about = f"go on with: fairground resume {name}{where}"
        lines.append(fitted(f"{name}  {state:<10}  {about}", width, indent=26))
    # At once: twenty thousand calls would take longer than reading the store.
    print("\n".join(lines), end="\n" if lines else "")


def _about(run: "RunSummary", names: str | None, with_unit: "Callable[[str, float], str]") -> str:
    names = names or _joined(run.loss, run.miner, run.dataset)
    shown = "" if run.score is None else f"  test {run.metric} {with_unit(run.metric, run.score)}"
    return f"{names} seed {run.seed}{shown}"


@cache
def _joined(*names: str | None) -> str:
    """Return the names that are there; kept, because thousands of runs have the same."""
    return " ".join(name for name in names if name)


def print_wrapped(heading: str, words: Sequence[str]) -> None:
    """Print words after a heading, in as many lines as the terminal needs, none of them torn."""
    width, line = terminal_width(), heading
    for word in words:
        if len(line) > len(heading) and len(line) + 2 + len(word) > width:
            print(line.rstrip())
            line = " " * len(heading)
        line += f"  {word}"
    print(line.rstrip())


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
    from fairground.reporting.headings import with_unit
    from fairground.spec.identity import data_name, method_name

    about = f"{method_name(record.spec)} on {data_name(record.spec['data'])}"
    print_fitted(f"run {record.name}: {about}, seed {record.spec['seed']}, {record.state}")
    if record.failure:
        print_fitted(f"  {record.failure}")
    for row in record.epochs:
        trained = "untrained" if row.loss is None else f"loss {row.loss:.4f}"
        mark = "<- selected" if row.epoch == record.best_epoch else ""
        scores = [f"{name} {with_unit(name, value)}" for name, value in row.validation.items()]
        print_wrapped(f"  epoch {row.epoch:>3}  {trained:<14}", [*scores, mark] if mark else scores)
    for split in ("validation", "test"):
        scores = [f"{s.metric} {with_unit(s.metric, s.value)}" for s in record.scores if s.split == split]
        if scores:
            print_wrapped(f"  {split:<10}", scores)
    for note in record.notes:
        print_fitted(f"  note: {note}")
    for finding in record.findings:
        print_fitted(f"  doctor: {finding.text}")
    origin = record.provenance
    memory = origin.peak_memory_bytes / 2**20
    took = f"{origin.wall_seconds:.1f} s" + (
        f" ({origin.cpu_seconds:.1f} s of processor)" if origin.cpu_seconds else ""
    )
    print_fitted(f"  {took}, {memory:.0f} MB, {origin.threads} threads, fairground {origin.fairground}")
