"""What the files of studies ask for, and how much of it the records have."""

import pkgutil
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from studies.results import claims
from studies.results.records import ExportedRun

STUDIES = Path(__file__).parents[1]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A study as its file has it: its methods' labels, and how many seeds each is to have."""

    study: str
    methods: frozenset[str]
    seeds: int

    @property
    def homes(self) -> list[str]:
        """The homes that pages read of this study: one of its name, or one per data set or split."""
        return [home for home in _homes() if home == self.study or home.startswith(f"{self.study}_")]

    def n_done(self, runs: Sequence[ExportedRun], home: str) -> int:
        """Return how many seeds every method has finished in a home."""
        mine = {(run.method, run.seed) for run in runs if run.study == home and run.is_final}
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


def _homes() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(claims.__path__, f"{claims.__name__}.")]
    return [home for name in names for home in getattr(import_module(name), "STUDIES", ())]


def _read(path: Path) -> dict[str, Any]:
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    if "extends" not in said:
        return said
    base = _read(path.with_name(said["extends"]))
    return {**base, **said, "methods": {**base["methods"], **said.get("methods", {})}}
