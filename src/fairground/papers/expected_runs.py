"""Which study makes a printed number, at what cost, and in what given runs differ from that study's complete spec.

Settings that a search chose are compared by procedure: the same ranges, trials, folds and rule of selection.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from fairground.papers.published_numbers import PublishedRow, PublishedTable, published_tables
from fairground.records import RunRecord, grouped
from fairground.spec import UNSAID, Range, SearchProcedure, StudyJob, flatten, jobs_of, load_study, to_plain

#: settings that do not change a score: which fold, and what else is measured
FREE = ("split.fold", "evaluation.test", "evaluation.metrics", "evaluation.analyses", "ensemble")
#: parts without effect on an untrained network
TRAINING = ("loss", "miner", "regulariser", "sampler", "optimiser", "training")


@dataclass(frozen=True, kw_only=True)
class ExpectedRuns:
    """The job of a study whose runs make a printed number, and their spec as flat settings."""

    study: str
    job: StudyJob
    settings: Mapping[str, str]

    @cached_property
    def procedure(self) -> SearchProcedure | None:
        """How the job's settings are searched; None where they are given."""
        return self.job.search_procedure()

    @property
    def n_trainings(self) -> int:
        trials = 0 if self.procedure is None else self.procedure.trials
        return len(self.job.study.folds.used) * (trials + self.job.study.repeats)


class Mismatch(NamedTuple):
    """One setting (`loss.margin`) or component (`loss`) in which runs are not those of a printed number."""

    setting: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.setting} is {self.ours}, the paper has {self.theirs}"


def ensemble_protocol(protocol: str) -> str:
    return f"{protocol}, concatenated"


def table_of(row: PublishedRow) -> PublishedTable:
    return next(table for table in published_tables() if table.name == row.table_name)


@cache
def expected_runs(row: PublishedRow) -> tuple[ExpectedRuns, ...]:
    """Return the jobs of all studies that make a printed number, in the order of the table's studies."""
    if not row.dataset or row.unit == "setting":
        return ()
    return tuple(found for study in table_of(row).studies for found in _jobs(study) if _makes(found, row))


@cache
def _jobs(study: str) -> tuple[ExpectedRuns, ...]:
    jobs = jobs_of(load_study(study))
    specs = {job.label: job.spec(seed=job.study.seed + 1, test=True, unsaid=UNSAID) for job in jobs}
    return tuple(ExpectedRuns(study=study, job=job, settings=flatten(to_plain(specs[job.label]))) for job in jobs)


def _makes(found: ExpectedRuns, row: PublishedRow) -> bool:
    settings = found.settings
    if settings["data"] != row.dataset or settings["trunk"] != row.network:
        return False
    if row.setting == "untrained":
        ours = settings.get("evaluation.principal_axes") or settings["head.embedding_dim"]
        return settings["training.epochs"] == "0" and ours == str(row.embedding_dim or ours)
    overrides = dict(word.split("=", 1) for word in row.setting.split() if "=" in word)
    words = [word.replace("{data}", found.job.data.label) for word in found.job.method.words]
    is_method = bool(row.preset) and f"loss={row.method}" in [word.replace("as-run-", "") for word in words]
    return is_method and all(settings.get(key) == value for key, value in overrides.items())


def mismatches(record: RunRecord, row: PublishedRow) -> list[Mismatch]:
    return min((list(_mismatches(record, found, row)) for found in expected_runs(row)), key=len)


def _mismatches(record: RunRecord, found: ExpectedRuns, row: PublishedRow) -> Iterator[Mismatch]:
    ours, theirs = flatten(record.spec), found.settings
    protocol = ours.get("protocol", "none")
    if protocol not in (theirs["protocol"], ensemble_protocol(theirs["protocol"])):
        yield Mismatch("protocol", protocol, theirs["protocol"])
    procedure = found.procedure if record.search is not None else None
    free = {"protocol", *FREE, *(procedure.ranges if procedure is not None else ())}
    other_parts = {key for key in theirs if "." not in key and ours.get(key) != theirs[key]}
    for key in dict.fromkeys([*theirs, *ours]):
        part, _, inner = key.partition(".")
        is_idle = row.setting == "untrained" and part in TRAINING and key != "training.epochs"
        is_within_other = bool(inner) and part in other_parts
        if key in free or is_idle or is_within_other or theirs.get(key) == UNSAID:
            continue
        here, there = ours.get(key, "unset"), theirs.get(key, "unset")
        if here != there:
            yield Mismatch(key, here, there)
    if record.search is not None and row.setting != "untrained":
        yield from _other_search(record.search, procedure)


def _other_search(ours: SearchProcedure, theirs: SearchProcedure | None) -> Iterator[Mismatch]:
    """Yield in what two searches differ; the settings they found are not a difference."""
    if theirs is None:
        yield Mismatch("search", f"{ours.trials} trials", "given settings")
        return
    for key in ("trials", "sampler", "pruning", "metric", "over", "n_folds", "folds"):
        here, there = getattr(ours, key), getattr(theirs, key)
        if here != there:
            yield Mismatch(f"search.{key}", str(here or "unset"), str(there))
    for key in dict.fromkeys([*theirs.ranges, *ours.ranges]):
        here, there = ours.ranges.get(key), theirs.ranges.get(key)
        if here != there:
            yield Mismatch(f"the range of {key}", _shown(here), _shown(there))


def _shown(span: Range | None) -> str:
    if span is None:
        return "none"
    plain: dict[str, Any] = to_plain(span)
    ends = plain.get("options") or [plain["low"], plain["high"]]
    return f"{plain['kind']} {ends}{' ' + plain['unit'] if 'unit' in plain else ''}"


def coverage_of(rows: Iterable[PublishedRow]) -> list[dict[str, Any]]:
    """Return which study makes each printed number, in how many trainings of its job (`cost`), or why none does."""
    lines = []
    for row in rows:
        shown = {key: getattr(row, key) for key in ("row", "dataset", "metric", "setting", "printed")}
        made = {"study": "", "job": "", "command": "", "cost": 0, "reason": table_of(row).reason}
        if found := next(iter(expected_runs(row)), None):
            made |= {"study": found.study, "job": found.job.label, "cost": found.n_trainings, "reason": ""}
            made["command"] = f"fairground study {found.study} data.root=FOLDER/{{data}}"
        lines.append({"table": row.table_name, **shown, **made})
    return lines


def coverage_table(lines: Sequence[Mapping[str, Any]]) -> str:
    groups = grouped(((line["table"], line["study"]), line) for line in lines)
    n_made = sum(bool(line["study"]) for line in lines)
    shown = [
        f"{n_made} of {len(lines)} printed numbers are made by a study and judged on its page.",
        "",
        "| table | numbers | command | trainings | why not |",
        "|---|---|---|---|---|",
    ]
    for (table, study), group in groups.items():
        costs = {line["job"]: line["cost"] for line in group}
        command, cost = (f"`{group[0]['command']}`", f"{sum(costs.values()):,}") if study else ("", "")
        shown.append(f"| {table} | {len(group)} | {command} | {cost} | {group[0]['reason']} |")
    return "\n".join(shown)
