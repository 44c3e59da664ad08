"""What the files of studies ask for, and how much of it the records have."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.results.records import ExportedRun

STUDIES = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A study as its file has it: its methods' labels, and how many seeds each is to have."""

    study: str
    methods: frozenset[str]
    seeds: int

    def n_done(self, runs: Sequence[ExportedRun]) -> int:
        """Return how many seeds every method has finished, of runs of any study; a home may name its split after it."""
        own = [run for run in runs if run.study == self.study or run.study.startswith(f"{self.study}_")]
        mine = {(run.method, run.seed) for run in own if run.is_final}
        seeds = {seed for _, seed in mine}
        return sum(all((method, seed) in mine for method in self.methods) for seed in seeds)


def plans(folder: Path = STUDIES) -> list[Plan]:
    """Return the plan of every study that is a file of settings, by name."""
    found = []
    for path in sorted(folder.glob("*.toml")):
        said = _read(path)
        methods = frozenset(name for name, words in said["methods"].items() if words != "none")
        found.append(Plan(study=path.stem, methods=methods, seeds=said["repeats"]))
    return found


def _read(path: Path) -> dict[str, Any]:
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    if "extends" not in said:
        return said
    base = _read(path.with_name(said["extends"]))
    return {**base, **said, "methods": {**base["methods"], **said.get("methods", {})}}
