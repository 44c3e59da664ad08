"""Which printed numbers a study of ours makes, by which command, and what that costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairground.papers.published import PublishedRow
from fairground.reporting.published_expected import expected_runs, table_of


@dataclass(frozen=True, kw_only=True)
class CoverageLine:
    """One printed number: `study` is empty where none makes it, and `reason` says why.

    `cost` is the number of trainings of its own method and data set, all folds, trials and repeats.
    """

    table: str
    row: str
    dataset: str
    metric: str
    setting: str
    printed: str
    study: str
    command: str
    cost: int
    reason: str


def coverage_of(rows: Iterable[PublishedRow]) -> list[CoverageLine]:
    """Return a line for every printed number, in the papers' order."""
    return [_line(row) for row in rows]


def _line(row: PublishedRow) -> CoverageLine:
    found = next(iter(expected_runs(row)), None)
    return CoverageLine(
        **{"table": row.table_name, "row": row.row, "dataset": row.dataset, "metric": row.metric},
        **{"setting": row.setting, "printed": row.printed},
        study="" if found is None else found.study,
        command="" if found is None else f"fairground study {found.study} data.root=FOLDER/{{data}}",
        cost=0 if found is None else found.n_trainings,
        reason="" if found is not None else table_of(row).reason,
    )


def coverage_table(lines: Sequence[CoverageLine]) -> str:
    """Return the lines summed up, one for each table and study or reason, as Markdown."""
    groups: dict[tuple[str, str], list[CoverageLine]] = {}
    for line in lines:
        groups.setdefault((line.table, line.study), []).append(line)
    n_covered = sum(bool(line.study) for line in lines)
    shown = [
        f"{n_covered} of {len(lines)} printed numbers are made by a study and judged on its page.",
        "",
        "| table | numbers | command | trainings | why not |",
        "|---|---|---|---|---|",
    ]
    for (table, study), group in groups.items():
        jobs = {(line.row, line.dataset, line.setting in _FOLDS, _method_setting(line)): line.cost for line in group}
        command = f"`{group[0].command}`" if study else ""
        cost = f"{sum(jobs.values()):,}" if study else ""
        shown.append(f"| {table} | {len(group)} | {command} | {cost} | {group[0].reason} |")
    return "\n".join(shown)


#: two ways to measure the same fold models: they are trained once
_FOLDS = ("separated", "concatenated")


def _method_setting(line: CoverageLine) -> str:
    return "" if line.setting in _FOLDS else line.setting
