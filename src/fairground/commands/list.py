"""`fairground list`: components, protocols, rules and flags, or the runs of a run directory."""

from typing import Annotated

from fairground import comparison, records, reporting
from fairground.commands import HOME, Answer, Home, aligned, home_argument
from fairground.spec import ROOMS, list_room, protocol_names


def list_things(
    room: Annotated[
        str | None, "[ROOM]", "losses, miners, samplers, ..., runs, protocols, rules or flags (default: an overview)."
    ] = None,
    home: Home = HOME,
) -> Answer:
    """List components with one line each, or the runs made so far.

    Examples: fairground list · fairground list losses · fairground list runs
    """
    if room == "runs":
        return list_runs(home)
    if room is None:
        found = {name: f"{len(list_room(name))} of them" for name in ROOMS} | {"runs": "what was trained here"}
    elif room == "protocols":
        found = dict(protocol_names())
    elif room == "rules":
        found = {rule.name: f"{rule.compares}. {rule.why}" for rule in comparison.RULES}
    elif room == "flags":
        found = {flag.name: flag.raised_when for flag in comparison.FLAGS}
    else:
        found = list_room(room)
    return Answer(found, aligned(list(found.items())))


def list_runs(home: Home = HOME) -> Answer:
    """List the runs made so far.

    Examples: fairground runs · fairground runs list
    """
    runs = {run.name: run for run in records.Store(home).summaries()}
    others = records.folder_names(home) - runs.keys()
    states: dict[str, str] = {name: "unfinished" for name in others if (home / "runs" / name / "spec.json").exists()}
    states |= dict.fromkeys(records.changes(home, others), "damaged")
    states = dict(sorted((states | {name: run.state for name, run in runs.items()}).items()))
    rows = []
    for name, state in states.items():
        if name not in runs:
            rows.append([name, state, f"continue with: fairground resume {name}{home_argument(home)}"])
            continue
        run = runs[name]
        score = "" if run.score is None else f"test {run.metric} {reporting.with_unit(run.metric, run.score)}"
        rows.append([name, state, run.title, run.data, f"seed {run.seed}", score])
    none = f"no runs in {home} yet; `fairground train` makes one, --home names another directory"
    return Answer(states, aligned(rows) if rows else [none])
