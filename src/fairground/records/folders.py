"""Runs by their folders: a run that has begun but has no record yet is found here."""

import os
from collections.abc import Iterable
from pathlib import Path

from fairground.errors import require
from fairground.records.artefacts import RunFolder
from fairground.spec.catalogue import nearest


def folder_names(root: Path) -> frozenset[str]:
    """Return the names of all folders of runs under `root`, by one look at the disk."""
    try:
        with os.scandir(root / "runs") as found:
            return frozenset(entry.name for entry in found if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()


def unstored(root: Path, stored: Iterable[str]) -> list[str]:
    """Return the runs whose folder holds a record and that are not among the `stored` ones."""
    names = folder_names(root).difference(stored)
    return sorted(name for name in names if (root / "runs" / name / "record.json").exists())


def run_folders(root: Path) -> list[str]:
    """Return the names of all runs begun under `root`, finished or not."""
    return sorted(path.parent.name for path in (root / "runs").glob("*/spec.json"))


def resolve_run(root: Path, name: str) -> str:
    """Return the whole name of a run that was begun, from its beginning."""
    known = run_folders(root)
    if name in known:
        return RunFolder(root, name).name
    found = [run for run in known if run.startswith(name)]
    hint = nearest(name, known) or ("" if known else " There are no runs yet.")
    require(len(found) > 0, f"no run '{name}' in {root}.{hint}")
    require(len(found) == 1, f"'{name}' could be {', '.join(found[:4])}: type more of the name")
    return found[0]
