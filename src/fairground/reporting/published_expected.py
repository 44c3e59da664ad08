"""Which study makes a printed number, what its runs must look like, and in what given runs differ from that.

A run is compared with the complete spec of the study's job, not with a few settings of it. Settings that a search chose
are compared by procedure: the same ranges, trials, folds and rule of selection, whatever it found.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from fairground.papers.published import PublishedRow, PublishedTable, published_tables
from fairground.records.record import RunRecord
from fairground.reporting.run_set import ensemble_protocol
from fairground.spec.identity import flatten, to_plain
from fairground.spec.procedures import SearchProcedure
from fairground.spec.space import Range, range_to_plain
from fairground.spec.study_jobs import UNSAID, StudyJob, jobs_of
from fairground.spec.study_load import load_study

#: settings that decide no digit of a score that is there: which fold, and what else is measured
_FREE = ("split.fold", "evaluation.test", "evaluation.metrics", "evaluation.analyses", "ensemble")
#: parts that do nothing in a network that is not trained
_TRAINING = ("loss", "miner", "regulariser", "sampler", "optimiser", "training")


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
        """How many runs the job takes: all folds of all trials and of all repeats."""
        trials = 0 if self.procedure is None else self.procedure.trials
        return len(self.job.study.folds.used) * (trials + self.job.study.repeats)


def table_of(row: PublishedRow) -> PublishedTable:
    """Return the table a printed number stands in."""
    return next(table for table in published_tables() if table.name == row.table_name)


@cache
def expected_runs(row: PublishedRow) -> tuple[ExpectedRuns, ...]:
    """Return the jobs of all studies that make a printed number, the first by the text; none where there is none."""
    if not row.dataset or row.unit == "setting":
        return ()
    return tuple(found for study in table_of(row).studies for found in _jobs(study) if _makes(found, row))


@cache
def _jobs(study: str) -> tuple[ExpectedRuns, ...]:
    found = []
    for job in jobs_of(load_study(study)):
        fold = job.study.folds.used[0]
        spec = job.spec(seed=job.study.seed + 1, fold=fold, test=True, unsaid=UNSAID)
        found.append(ExpectedRuns(study=study, job=job, settings=flatten(to_plain(spec))))
    return tuple(found)


def _makes(found: ExpectedRuns, row: PublishedRow) -> bool:
    settings = found.settings
    if settings["data"] != row.dataset or settings["trunk"] != row.network:
        return False
    if row.setting == "untrained":
        ours = settings.get("evaluation.principal_axes") or settings["head.embedding_dim"]
        return settings["training.epochs"] == "0" and ours == str(row.embedding_dim or ours)
    overrides = dict(word.split("=", 1) for word in row.setting.split() if "=" in word)
    words = [word.replace("{data}", found.job.data.label) for word in found.job.method.words]
    methods = (f"loss={row.method}", f"loss={row.loss}@{row.preset.replace('roth-', 'roth-as-run-')}")
    is_method = bool(row.preset) and any(method in words for method in methods)
    return is_method and all(settings.get(key) == value for key, value in overrides.items())


def differences(record: RunRecord, row: PublishedRow) -> list[str]:
    """Return in what a run is not one of the row's, by the study it is nearest to."""
    return min((list(_differences(record, found, row)) for found in expected_runs(row)), key=len)


def _differences(record: RunRecord, found: ExpectedRuns, row: PublishedRow) -> Iterator[str]:
    ours, theirs = flatten(record.spec), found.settings
    protocol = ours.get("protocol", "none")
    if protocol not in (theirs["protocol"], ensemble_protocol(theirs["protocol"])):
        yield f"the runs follow the protocol {protocol}, the row {theirs['protocol']}"
    procedure = found.procedure if record.search is not None else None
    free = {"protocol", *_FREE, *(procedure.ranges if procedure is not None else ())}
    other_parts = {key for key in theirs if "." not in key and ours.get(key) != theirs[key]}
    for key in dict.fromkeys([*theirs, *ours]):
        part, _, inner = key.partition(".")
        is_idle = row.setting == "untrained" and part in _TRAINING and key != "training.epochs"
        is_within_other = bool(inner) and part in other_parts
        if key in free or is_idle or is_within_other or theirs.get(key) == UNSAID:
            continue
        here, there = ours.get(key, "unsaid"), theirs.get(key, "unsaid")
        if here != there:
            yield f"{key} is {here}, the row's is {there}"
    if record.search is not None and row.setting != "untrained":
        yield from _other_procedure(record.search, procedure)


def _other_procedure(ours: SearchProcedure, theirs: SearchProcedure | None) -> Iterator[str]:
    """Yield in what two searches differ; the settings they found are no difference."""
    if theirs is None:
        yield "the runs' settings were searched, the row's are given"
        return
    for key in ("trials", "sampler", "pruning", "metric", "over", "n_folds", "folds"):
        here, there = getattr(ours, key), getattr(theirs, key)
        if here != there:
            yield f"search.{key} is {here or 'unsaid'}, the row's is {there}"
    for key in dict.fromkeys([*theirs.ranges, *ours.ranges]):
        spans = ours.ranges.get(key), theirs.ranges.get(key)
        if spans[0] != spans[1]:
            yield f"the range of {key} is {_shown(spans[0])}, the row's is {_shown(spans[1])}"


def _shown(span: Range | None) -> str:
    if span is None:
        return "none"
    plain = range_to_plain(span)
    ends = plain.get("options") or [plain["low"], plain["high"]]
    return f"{plain['kind']} {ends}{' ' + plain['unit'] if 'unit' in plain else ''}"
