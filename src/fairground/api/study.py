"""Run a study: find it by name, make its runs from wherever it is, write its page and return what it found."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fairground.api.executors import ExecutorOptions
from fairground.api.home import home_folder
from fairground.api.progress.study import study_progress
from fairground.api.words import Setting, words_of
from fairground.errors import DataError, require
from fairground.loggers.feed import fed
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.reporting import table_formats
from fairground.reporting.study_results import results_plain, results_text, tables_of, write_study_page
from fairground.spec.study import StudySpec, study_hash
from fairground.spec.study_load import load_study, study_names
from fairground.studies.failures import StudyFailures, failures_of
from fairground.studies.folder import find_begun, folder_of
from fairground.studies.plan import StudyPlan, cost_probes, plan_of
from fairground.studies.run_study import JobResult, run_study
from fairground.studies.scheduler import JOB, Scheduler

#: kind of table -> the function of `table_formats` that writes it
FORMATS = {"text": "text", "md": "markdown", "tex": "latex", "csv": "csv_text"}


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult:
    """What a study found: one result per method and data set. `page` is its report, if any final run was made."""

    study: StudySpec
    results: tuple[JobResult, ...]
    home: Path
    page: Path | None

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of the final runs."""
        return tuple(record for result in self.results for record in result.runs)

    def table(self, kind: Literal["text", "md", "tex", "csv"] = "text") -> str:
        """Return the tables, one per data set; fold models separated and, where there are several, joined."""
        require(kind in FORMATS, f"a table is one of {', '.join(FORMATS)}; got '{kind}'")
        write = getattr(table_formats, FORMATS[kind])
        parts = tables_of(self.results)
        comment = {"tex": "% ", "csv": "# "}.get(kind, "")
        titles = [f"{comment}{part.title}\n" if len(parts) > 1 else "" for part in parts]
        return "\n".join(title + write(part.table) for title, part in zip(titles, parts, strict=True))

    def report(self, out: str | os.PathLike[str]) -> Path:
        """Write the report page to a file and return its path."""
        title = self.study.question or self.study.name
        page = write_study_page(self.results, title=title, home=self.home, out=Path(out))
        if page is None:
            raise DataError(f"study {self.study.name} has no final run to report")
        return page

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data, as `fairground study --json` prints it."""
        named = {
            "study": self.study.name,
            "hash": study_hash(self.study),
            "page": str(self.page) if self.page else None,
        }
        counted = {"runs": self.failures.n, "done": self.failures.n_done, "failures": dict(self.failures.reasons)}
        return {**named, **counted, "jobs": results_plain(self.results)}

    @property
    def failures(self) -> StudyFailures:
        """How many trials and final runs failed, and why."""
        return failures_of(self.results)

    def text(self, *, width: int | None = None) -> str:
        """Return the tables, what was selected and what a reader must be told, in lines of at most `width` signs."""
        return results_text(self.results, width=width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<StudyResult {self.study.name} ({study_hash(self.study)}): {len(self.records)} final runs>"


def study(
    name: str,
    *,
    executor: str = "processes",
    workers: int = 2,
    threads: int = 1,
    gpus: float = 0.0,
    address: str | None = None,
    node_wait: float | None = None,
    storage: str | None = None,
    loggers: Sequence[str] = (),
    home: str | os.PathLike[str] | None = None,
    quiet: bool = False,
    **changes: Setting,
) -> StudyResult:
    """Run a study: search every method equally, select, repeat on fresh seeds, open the test classes once.

    `name` is a preset, a .toml file, or the hash of a study begun. The keywords change it: `repeats=5`,
    `search={"trials": 16}`, or a setting of all its runs such as `training={"epochs": 3}`. `until_settled=True` adds
    seeds in waves to the methods still in question, until it is settled which is best; `until_settled={"limit": 9}`
    changes the rule. What is done is not done again: after Ctrl-C or a crash the same call goes on, with the digits it
    would have had anyway. With Ray, `node_wait` is how many seconds to wait for a node when none is left, 300 if left
    out.
    """
    folder = home_folder(home)
    require(workers >= 1, f"workers must be at least 1; got {workers}")
    require(threads >= 1, f"threads must be at least 1; got {threads}")
    options = ExecutorOptions(
        name=executor, workers=workers, threads=threads, gpus=gpus, address=address, node_wait=node_wait
    )
    found = find_study([name, *words_of(changes)], folder)
    return run_found_study(found, home=folder, options=options, storage=storage, loggers=loggers, quiet=quiet)


def find_study(words: Sequence[str], home: Path, *, is_begun: bool = False) -> StudySpec:
    """Return the study the words name: one that was begun where that is asked for, otherwise a preset or a file."""
    require(len(words) > 0, "which study? `fairground study list` shows them all")
    name, changes = words[0], words[1:]
    is_preset = name.endswith(".toml") or name in study_names()
    begun = None if (is_preset and not is_begun) or changes else find_begun(home, name)
    return begun or load_study(name, changes=changes)


def run_found_study(
    found: StudySpec,
    *,
    home: Path,
    options: ExecutorOptions,
    storage: str | None = None,
    loggers: Sequence[str] = (),
    quiet: bool = False,
) -> StudyResult:
    """Run a study from wherever it is, write its page, and return what it found."""
    plan = plan_of(found, home=home)
    total, metric = plan.n_search + plan.n_final, found.selection.metric
    is_most = plan.is_most or (plan.n_search > 0 and found.search.pruning != "none")
    with (
        fed(loggers, home) as feed,
        study_progress(total, metric=metric, is_quiet=quiet, is_most=is_most) as (watch, on_record),
    ):
        results = run_study(
            found,
            home=home,
            spawn=lambda job: options.spawn(job, feed.with_events(watch)),
            storage=storage,
            on_record=feed.with_records(on_record),
        )
    page = None
    if failures_of(results).n_done:
        page = write_study_page(results, title=found.question or found.name, home=home, out=folder_of(found, home).page)
    return StudyResult(study=found, results=tuple(results), home=home, page=page)


def measured_plan(found: StudySpec, *, home: Path, options: ExecutorOptions, quiet: bool = False) -> StudyPlan:
    """Make the first run of every method, to measure what it costs, and return the plan of the study."""
    specs = cost_probes(found)
    with (
        study_progress(len(specs), metric=found.selection.metric, is_quiet=quiet) as (watch, on_record),
        options.spawn(JOB, watch) as executor,
    ):
        Scheduler(store=Store(home), executor=executor, on_record=on_record).run_specs(specs)
    return plan_of(found, home=home)
