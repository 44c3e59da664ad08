"""`fairground show`: the settings, the epochs and the scores of a run."""

import json
from collections.abc import Iterator
from typing import Annotated

from fairground import records, reporting, spec
from fairground.commands import HOME, Answer, Home, Verbatim, fitted, plural, screen_width


def show(run: Annotated[str, "RUN", "Name of the run, or the beginning of it."], home: Home = HOME) -> Answer:
    """Show the settings, the course and the scores of a run.

    Example: fairground show 3f2a
    """
    record = records.Store(home).get(run)
    return Answer(json.loads(record.to_json()), record_lines(record))


def record_lines(record: "records.RunRecord") -> Iterator[str]:
    def scores(heading: str, values: dict[str, float], mark: str = "") -> str:
        # A score is not broken.
        parts = [f"{name} {reporting.with_unit(name, value)}".replace(" ", "\xa0") for name, value in values.items()]
        line = "  ".join([heading, *parts, *([mark] if mark else [])])
        return Verbatim(fitted(line.rstrip(), screen_width(), indent=len(heading)).replace("\xa0", " "))

    about = f"{spec.method_name(record.spec)} on {spec.data_name(record.spec['data'])}"
    yield f"run {record.name}: {about}, seed {record.spec['seed']}, {record.state}"
    yield from [f"  {record.failure}"] * bool(record.failure)
    for row in record.epochs:
        trained = "untrained" if row.loss is None else f"loss {row.loss:.4f}"
        mark = "<-\xa0selected" if row.epoch == record.best_epoch else ""
        yield scores(f"  epoch {row.epoch:>3}  {trained:<14}", dict(row.validation), mark)
    patience, epochs = record.setting("training.patience"), record.setting("training.epochs")
    if record.state == "done" and record.epochs and patience and (last := record.epochs[-1].epoch) < epochs:
        since = f"no later epoch was better than epoch {record.best_epoch} (training.patience={patience})"
        yield f"  stopped after epoch {last} of {epochs}: {since}"
    for split in ("validation", "test"):
        if found := {score.metric: score.value for score in record.scores if score.split == split}:
            yield scores(f"  {split:<10}", found)
    for note in record.notes:
        yield f"  note: {note}"
    for finding in record.findings:
        yield f"  doctor: {finding.text}"
    if record.is_imported:
        return
    origin = record.provenance
    memory, threads = origin.peak_memory_bytes / 2**20, plural(origin.threads, "thread")
    cpu = f" ({origin.cpu_seconds:.1f} s of CPU time)" if origin.cpu_seconds else ""
    yield f"  {origin.wall_seconds:.1f} s{cpu}, {memory:.0f} MB, {threads}, fairground {origin.fairground}"
    yield from [f"  on {origin.device_text}, {origin.peak_device_bytes / 2**20:.0f} MB"] * (origin.device != "cpu")
