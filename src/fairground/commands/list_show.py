"""`fairground list` and `fairground show`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairground.commands.options import HOME, AsJson, Home, home_argument
from fairground.commands.terminal import plural, print_columns, print_fitted, print_listed, print_wrapped

if TYPE_CHECKING:
    from fairground.records.record import RunRecord


def list_things(
    room: Annotated[
        str | None,
        typer.Argument(help="losses, miners, samplers, ..., runs, protocols, rules or flags (default: an overview)."),
    ] = None,
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """List components with one line each, or the runs made so far.

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
    """Return what must agree before methods may share a table, or what is flagged in those that do."""
    from fairground.comparison.fairness_flags import FLAGS
    from fairground.comparison.fairness_rules import RULES

    if table == "flags":
        return {flag.name: flag.raised_when for flag in FLAGS}
    return {rule.name: f"{rule.compares}. {rule.why}" for rule in RULES}


def _list_runs(home: Path, as_json: bool) -> None:
    from fairground.records.run_folder import folder_names
    from fairground.records.store import Store, changes
    from fairground.reporting.headings import with_unit
    from fairground.spec.identity import OWN_DATA, data_name, method_name

    store = Store(home)
    runs = {run.name: run for run in store.summaries()}
    others = folder_names(home) - runs.keys()
    states: dict[str, str] = {name: "unfinished" for name in others if (home / "runs" / name / "spec.json").exists()}
    states |= dict.fromkeys(changes(home, others), "damaged")
    states |= {name: run.state for name, run in runs.items()}
    if as_json:
        print(json.dumps(states, sort_keys=True))
        return
    if not states:
        print_fitted(f"no runs in {home} yet; `fairground train` makes one, --home names another directory")
    # Of a user's own data, the list names the data set and what the method does not train; else columns say enough.
    own = [kind for kind in OWN_DATA if kind in {run.dataset for run in runs.values()}]
    specs = store.specs_of(own) if own else {}
    rows = []
    for name, state in sorted(states.items()):
        if name not in runs:
            rows.append([name, state, f"continue with: fairground resume {name}{home_argument(home)}"])
            continue
        run, spec = runs[name], specs.get(name)
        method = " ".join(part for part in (run.loss, run.miner) if part) if spec is None else method_name(spec)
        data = run.dataset or "" if spec is None else data_name(spec["data"])
        score = "" if run.score is None else f"test {run.metric} {with_unit(run.metric, run.score)}"
        rows.append([name, state, method, data, f"seed {run.seed}", score])
    print_columns(rows)


def show(
    run: Annotated[str, typer.Argument(help="Name of the run, or the beginning of it.")],
    home: Home = HOME,
    as_json: AsJson = False,
) -> None:
    """Show the settings, the course and the scores of a run.

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
    memory, threads = origin.peak_memory_bytes / 2**20, plural(origin.threads, "thread")
    cpu = f" ({origin.cpu_seconds:.1f} s of CPU time)" if origin.cpu_seconds else ""
    print_fitted(f"  {origin.wall_seconds:.1f} s{cpu}, {memory:.0f} MB, {threads}, fairground {origin.fairground}")
