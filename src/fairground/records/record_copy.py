"""A run's current record next to its files: what the store is rebuilt from when its database is lost."""

import json
from collections.abc import Iterator
from pathlib import Path

from fairground.errors import StoreError
from fairground.records.artefacts import RunFolder
from fairground.records.record import RunRecord
from fairground.records.sealed_json import read_sealed, write_sealed


def write_copy(root: Path, record: RunRecord) -> None:
    """Write a record into the folder of its run, where there is one."""
    if (root / "runs" / record.name).is_dir():
        write_sealed(RunFolder(root, record.name).record, json.loads(record.to_json()))


def read_copy(folder: RunFolder) -> RunRecord:
    """Return the record in a run's folder, refusing with a StoreError one that is not as it was written."""
    record = RunRecord.from_json(json.dumps(read_sealed(folder.record)))
    if record.name != folder.name:
        raise StoreError(f"{folder.record} is the record of another run, {record.name}")
    return record


def copies(root: Path) -> Iterator[RunFolder]:
    """Yield the folders of all runs under `root` that hold a record."""
    for path in sorted((root / "runs").glob("*/record.json")):
        yield RunFolder(root, path.parent.name)
