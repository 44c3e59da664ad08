"""Which runs a claim looks at, as the tables its arithmetic needs."""

from collections.abc import Mapping, Sequence

from studies.results.records import ExportedRun

#: rows of tables that nothing was trained for
UNTRAINED = ("Frozen", "Untrained")
#: values by method and seed
Table = dict[str, dict[int, float]]


def finals(runs: Sequence[ExportedRun], *, with_untrained: bool = False) -> list[ExportedRun]:
    """Return the runs after selection, on seeds that every method has finished."""
    found = [run for run in runs if run.is_final and (with_untrained or run.method not in UNTRAINED)]
    seeds: dict[str, set[int]] = {}
    for run in found:
        seeds.setdefault(run.method, set()).add(run.seed)
    shared = set.intersection(*seeds.values()) if seeds else set()
    return [run for run in found if run.seed in shared]


def by_data(runs: Sequence[ExportedRun], order: Mapping[str, str]) -> dict[str, list[ExportedRun]]:
    """Return runs by data set, in the order of the pages."""
    found: dict[str, list[ExportedRun]] = {}
    for name in order:
        some = [run for run in runs if run.data == name]
        if some:
            found[name] = some
    return found


def values(runs: Sequence[ExportedRun], metric: str, split: str = "test") -> Table:
    """Return one metric of the selected epoch by method and seed."""
    found: Table = {}
    for run in runs:
        if (split, metric) in run.scores:
            found.setdefault(run.method, {})[run.seed] = run.scores[split, metric]
    return found


def means(table: Table) -> dict[str, float]:
    """Return each method's mean, best first."""
    found = {method: sum(row.values()) / len(row) for method, row in table.items()}
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def untrained(runs: Sequence[ExportedRun], metric: str) -> float | None:
    """Return what the untrained row scores."""
    found = [run.scores["test", metric] for run in runs if run.is_final and run.method in UNTRAINED]
    return sum(found) / len(found) if found else None
