"""`fairground list` and `fairground show`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fairground.commands.command import Answer
from fairground.commands.options import HOME, Home, home_argument
from fairground.commands.terminal import Verbatim, aligned, fitted, plural, screen_width

if TYPE_CHECKING:
    from fairground.records.record import RunRecord


def list_things(
    room: Annotated[
        str | None, "[ROOM]", "losses, miners, samplers, ..., runs, protocols, rules or flags (default: an overview)."
    ] = None,
    home: Home = HOME,
) -> Answer:
    """List components with one line each, or the runs made so far.

    Examples: fairground list · fairground list losses · fairground list runs
    """
    from fairground.comparison import FLAGS, RULES
    from fairground.spec import ROOMS, list_room, protocol_names

    if room == "runs":
        return _list_runs(home)
    if room is None:
        found = {name: f"{len(list_room(name))} of them" for name in ROOMS} | {"runs": "what was trained here"}
    elif room == "protocols":
        found = dict(protocol_names())
    elif room == "rules":
        found = {rule.name: f"{rule.compares}. {rule.why}" for rule in RULES}
    elif room == "flags":
        found = {flag.name: flag.raised_when for flag in FLAGS}
    else:
        found = list_room(room)
    return Answer(found, aligned(list(found.items())))


def _list_runs(home: Path) -> Answer:
    from fairground.records import Store, changes, folder_names
    from fairground.reporting.headings import with_unit
    from fairground.spec.run_names import OWN_DATA, data_name, method_name

    store = Store(home)
    runs = {run.name: run for run in store.summaries()}
    others = folder_names(home) - runs.keys()
    states: dict[str, str] = {name: "unfinished" for name in others if (home / "runs" / name / "spec.json").exists()}
    states |= dict.fromkeys(changes(home, others), "damaged")
    states = dict(sorted((states | {name: run.state for name, run in runs.items()}).items()))

    def lines() -> Iterator[str]:
        if not states:
            yield f"no runs in {home} yet; `fairground train` makes one, --home names another directory"
        # Of a user's own data, the list names the data set and what the method does not train; else columns say enough.
        own = [kind for kind in OWN_DATA if kind in {run.dataset for run in runs.values()}]
        specs = store.specs_of(own) if own else {}
        rows = []
        for name, state in states.items():
            if name not in runs:
                rows.append([name, state, f"continue with: fairground resume {name}{home_argument(home)}"])
                continue
            run, spec = runs[name], specs.get(name)
            method = " ".join(part for part in (run.loss, run.miner) if part) if spec is None else method_name(spec)
            data = run.dataset or "" if spec is None else data_name(spec["data"])
            score = "" if run.score is None else f"test {run.metric} {with_unit(run.metric, run.score)}"
            rows.append([name, state, method, data, f"seed {run.seed}", score])
        yield from aligned(rows)

    return Answer(states, lines())


def show(run: Annotated[str, "RUN", "Name of the run, or the beginning of it."], home: Home = HOME) -> Answer:
    """Show the settings, the course and the scores of a run.

    Example: fairground show 3f2a
    """
    from fairground.records.store import Store

    record = Store(home).get(run)
    return Answer(json.loads(record.to_json()), record_lines(record))


def record_lines(record: "RunRecord") -> Iterator[str]:
    """Yield a record for a person."""
    from fairground.reporting.headings import with_unit
    from fairground.spec.run_names import data_name, method_name

    def scores(heading: str, values: dict[str, float], mark: str = "") -> str:
        # A score is not broken.
        parts = [f"{name} {with_unit(name, value)}".replace(" ", "\xa0") for name, value in values.items()]
        line = "  ".join([heading, *parts, *([mark] if mark else [])])
        return Verbatim(fitted(line.rstrip(), screen_width(), indent=len(heading)).replace("\xa0", " "))

    about = f"{method_name(record.spec)} on {data_name(record.spec['data'])}"
    yield f"run {record.name}: {about}, seed {record.spec['seed']}, {record.state}"
    if record.failure:
        yield f"  {record.failure}"
    for row in record.epochs:
        trained = "untrained" if row.loss is None else f"loss {row.loss:.4f}"
        mark = "<-\xa0selected" if row.epoch == record.best_epoch else ""
        yield scores(f"  epoch {row.epoch:>3}  {trained:<14}", dict(row.validation), mark)
    training: Any = record.spec.get("training", {})
    if record.state == "done" and record.epochs and training.get("patience"):
        last, epochs = record.epochs[-1].epoch, training["epochs"]
        since = f"no better score since epoch {record.best_epoch} (training.patience={training['patience']})"
        if last < epochs:
            yield f"  stopped after epoch {last} of {epochs}: {since}"
    for split in ("validation", "test"):
        if found := {score.metric: score.value for score in record.scores if score.split == split}:
            yield scores(f"  {split:<10}", found)
    for note in record.notes:
        yield f"  note: {note}"
    for finding in record.findings:
        yield f"  doctor: {finding.text}"
    origin = record.provenance
    memory, threads = origin.peak_memory_bytes / 2**20, plural(origin.threads, "thread")
    cpu = f" ({origin.cpu_seconds:.1f} s of CPU time)" if origin.cpu_seconds else ""
    yield f"  {origin.wall_seconds:.1f} s{cpu}, {memory:.0f} MB, {threads}, fairground {origin.fairground}"
