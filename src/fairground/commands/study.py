"""Run a study: find it by name, make its runs from wherever it is, write its page and return what it found."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from fairground import reporting, spec, studies
from fairground.commands import Answer, AnyPath, options, options_of, require, run_directory, study_progress
from fairground.commands.keyword_overrides import Setting, keyword_overrides
from fairground.commands.terminal import Verbatim, aligned, plural, prints_on_stderr, screen_width
from fairground.loggers.feed import fed
from fairground.records import RunRecord, Store
from fairground.spec import DataError, Overrides, RunSpec, StudySpec, load_study, study_hash, study_names
from fairground.studies import JOB, JobResult, Scheduler, StudyFailures, failures_of, find_begun, folder_of, plan_of
from fairground.studies.run_study import run_study


@dataclass(frozen=True, kw_only=True, repr=False)
class StudyResult:
    """What a study found: one result per method and data set. `page` is its report, if any final run was made."""

    study: StudySpec
    results: tuple[JobResult, ...]
    home: Path
    page: Path | None = None

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of the final runs."""
        return tuple(record for result in self.results for record in result.runs)

    def table(self, kind: Literal["text", "md", "tex", "csv"] = "text") -> str:
        """Return the tables, one per data set; fold models separated and, where there are several, joined."""
        known, parts = reporting.table_formats.FORMATS, self._tables
        require(kind in known, f"a table is one of {', '.join(known)}; got '{kind}'")
        comment = {"tex": "% ", "csv": "# "}.get(kind, "")
        titles = [f"{comment}{part.title}\n" if len(parts) > 1 else "" for part in parts]
        return "\n".join(title + known[kind](part.table) for title, part in zip(titles, parts, strict=True))

    @cached_property
    def _tables(self) -> list["reporting.StudyTable"]:
        return reporting.tables_of(self.results)

    def report(self, out: AnyPath) -> Path:
        """Write the report page to a file and return its path."""
        runs = reporting.from_study(self.results, home=self.home, title=self.study.question or self.study.name)
        require(len(runs.records) > 0, f"study {self.study.name} has no final run to report", DataError)
        return reporting.build_page(runs, out=Path(out))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data, as `fairground study --json` prints it."""
        page = str(self.page) if self.page else None
        named = {"study": self.study.name, "hash": study_hash(self.study), "page": page}
        counted = {"runs": self.failures.n, "done": self.failures.n_done, "failures": dict(self.failures.reasons)}
        return {**named, **counted, "jobs": reporting.results_plain(self.results, self._tables)}

    @property
    def failures(self) -> StudyFailures:
        """How many trials and final runs failed, and why."""
        return failures_of(self.results)

    def text(self, *, width: int | None = None) -> str:
        """Return the tables, what was selected and what a reader must be told, in lines of at most `width` signs."""
        return reporting.results_text(self.results, self._tables, home=self.home, width=width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<StudyResult {self.study.name} ({study_hash(self.study)}): {len(self.records)} final runs>"


def study(
    name: str,
    *,
    executor: options.ExecutorName = "processes",
    workers: options.Workers = 2,
    threads: options.WorkerThreads = 1,
    gpus_per_run: options.GpusPerRun = None,
    address: options.Address = None,
    slurm: options.Slurm = (),
    device: options.Device = "auto",
    loggers: options.Loggers = (),
    home: run_directory.AnyHome = None,
    again: options.StudyAgain = False,
    quiet: options.Quiet = False,
    **changes: Setting,
) -> StudyResult:
    """Run a study: search every method equally, select, repeat on fresh seeds, open the test classes once.

    `name` is a preset, a .toml file, or the hash of a study begun. The keywords change it: `repeats=5`,
    `search={"trials": 16}`, or a setting of all its runs such as `training={"epochs": 3}`. `until_settled=True` adds
    seeds in waves to the methods still in question, until it is settled which is best; `until_settled={"limit": 9}`
    changes the rule. Finished runs are not repeated: after Ctrl-C or a crash the same call continues, and results are
    bit-identical. Data or code that changed since is refused; `again` makes again what it concerns.
    """
    shared: dict[str, Any] = {"threads": threads, "device": device, "gpus_per_run": gpus_per_run}
    cluster: dict[str, Any] = {"address": address, "slurm": slurm}
    spawn = options.executor_of(executor, workers=workers, **shared, **cluster)
    folder = run_directory.home_folder(home)
    found = find_study(name, keyword_overrides(changes), folder)
    return run_found_study(found, spawn, home=folder, loggers=loggers, again=again, quiet=quiet)


def find_study(name: str, changes: Overrides, home: Path, *, is_begun: bool = False) -> StudySpec:
    """Return a study by name: one that was begun if `is_begun`, otherwise a preset or a file first."""
    is_preset = name.endswith(".toml") or name in study_names()
    begun = None if (is_preset and not is_begun) or changes else find_begun(home, name)
    return begun or load_study(name, changes=changes)


def run_found_study(
    found: StudySpec,
    spawn: options.Spawn,
    *,
    home: Path,
    loggers: Sequence[str] = (),
    again: bool = False,
    quiet: bool = False,
) -> StudyResult:
    plan = plan_of(found, home=home)
    total, metric = plan.n_search + plan.n_final, found.selection.metric
    is_most = plan.is_most or (plan.n_search > 0 and found.search.pruning != "none")
    with (
        fed(loggers, home) as feed,
        study_progress(total, metric=metric, is_quiet=quiet, is_most=is_most) as (watch, on_record),
    ):
        seen, hear = feed.after(watch), feed.after(on_record)
        results = run_study(found, home=home, spawn=lambda job: spawn(job, seen), on_record=hear, again=again)
    result = StudyResult(study=found, results=tuple(results), home=home)
    has_page = result.failures.n_done and result.records
    return replace(result, page=result.report(folder_of(found, home).page)) if has_page else result


ACTIONS = ("run", "resume", "plan", "status", "list")


@options_of(study)
def study_command(
    home: Path,
    quiet: bool,
    loggers: Sequence[str],
    again: bool,
    words: Annotated[
        list[str],
        "[run|resume|plan|status|list] [STUDY] [KEY=VALUE]...",
        "A preset, a .toml file, or the hash of a study begun; then overrides.",
    ],
    until_settled: Annotated[
        bool,
        "Add seeds in waves, only to the methods still in question, until it is settled which is best. "
        "until_settled.limit=15 and so on change the rule.",
    ] = False,
    measure: Annotated[bool, "With plan: make the first run of every method to measure its cost."] = False,
    **executor: Any,
) -> Answer:
    """Run a study: search every method equally, select, repeat on fresh seeds, open the test classes once.

    `fairground study list` shows the studies; `plan` prints the runs, time and disk space needed; `status` the
    progress; `resume` continues after Ctrl-C or a crash with bit-identical results.

    Exit code: 0 if no run failed, 3 if some did, 1 if none finished; the last line counts them and gives the reason.

    Examples: fairground study tiny · fairground study plan laptop/mlrc --measure ·
    fairground study plan roth2020/table4 ·
    fairground study laptop/mlrc --workers 4 repeats=5 search.trials=16 ·
    fairground study tiny --until-settled until_settled.limit=9 until_settled.margin=1 ·
    fairground study my_study.toml --executor ray --address auto
    """
    action, rest = (words[0], words[1:]) if words[0] in ACTIONS else ("run", words)
    if action == "list":
        presets = {name: load_study(name).question for name in study_names()}
        begun = {hash_: study.name for hash_, study in studies.begun_studies(home).items()}
        here = [f"begun here: {name} ({hash_})" for hash_, name in begun.items()]
        return Answer({"presets": presets, "begun": begun}, [*aligned(list(presets.items())), *here])
    require(len(rest) > 0, "which study? `fairground study list` shows them all")
    changes = {**({"until_settled": True} if until_settled else {}), **spec.parse_overrides(rest[1:])}
    found = find_study(rest[0], changes, home, is_begun=action in ("resume", "status"))
    if action == "status":
        return _status(found, home)
    spawn = options.executor_of(**executor)
    if action == "plan":
        if measure:
            run_specs(studies.cost_probes(found), spawn, home, quiet=quiet)
        return _plan(found, rest, home, executor["workers"])
    # What Ray prints must not end up in what a program reads.
    with prints_on_stderr() if executor["executor"] == "ray" else nullcontext():
        return study_answer(found, spawn, home=home, loggers=loggers, again=again, quiet=quiet)


def run_specs(
    specs: Sequence[RunSpec], spawn: options.Spawn, home: Path, *, quiet: bool, titles: Mapping[str, str] | None = None
) -> list[RunRecord]:
    metric = specs[0].evaluation.select_by
    with (
        study_progress(len(specs), metric=metric, is_quiet=quiet, titles=titles) as (watch, on_record),
        spawn(JOB, watch) as executor,
    ):
        return Scheduler(store=Store(home), executor=executor, on_record=on_record).run_specs(specs)


def _plan(found: StudySpec, typed: Sequence[str], home: Path, workers: int) -> Answer:
    plan = plan_of(found, home=home)
    images = plan.images()
    needs_folder = images is not None and not any(word.startswith("data.root=") for word in typed)
    command = f"fairground study {shlex.join(typed)}" + (" data.root=FOLDER/{data}" if needs_folder else "")
    rows = []
    for row in plan.rows:
        cost = "" if row.seconds is None else f"{row.seconds:.1f} s per run"
        n_runs = f"{row.n_search:>5} search + {row.n_final:>4} final"
        rows.append([row.job, n_runs, plural(row.n_settings, "setting"), cost])
    most, searched = "at most " if plan.is_most else "", plural(plan.n_search, "training")
    lines = [*aligned(rows), f"{searched} to search, {most}{plan.n_final:,} after selection"]
    lines.append(_cost(plan, workers))
    lines += [f"follows: {found.follows}"] * bool(found.follows)
    lines += [f"differs from the paper: {found.differs}"] * bool(found.differs)
    lines.append(Verbatim(f"command: {command}"))
    counts = {"search_runs": plan.n_search, "final_runs": plan.n_final, "is_most": plan.is_most}
    costs = {"seconds": plan.seconds(workers), "bytes": plan.bytes(), "images": images}
    jobs = [asdict(row) for row in plan.rows]
    return Answer({"study": plan.study, **counts, **costs, "command": command, "jobs": jobs}, lines)


def _cost(plan: "studies.StudyPlan", n_workers: int) -> str:
    """Return what a study costs: measured on this machine, or on published data the images and the disk."""
    seconds, size, images = plan.seconds(n_workers), plan.bytes(), plan.images()
    if seconds is not None and size is not None:
        workers = plural(n_workers, "worker")
        return f"at most {reporting.duration(seconds)} on {workers}, {size / 2**20:,.0f} MB of disk, by measured runs"
    if images is None or size is None:
        return "time and disk space are unknown: --measure makes the first run of every method to measure them"
    work = f"at most {images / 1e6:,.1f} million images through the network, {size / 1e9:,.0f} GB of disk"
    return f"{work}; the time is what your hardware takes for so many"


def _status(found: StudySpec, home: Path) -> Answer:
    is_begun = folder_of(found, home).spec.exists()
    rows = studies.status_of(found, home=home) if is_begun else []
    waves = studies.waves_so_far(found, home=home) if is_begun else {}
    events = Store(home).events(run=study_hash(found))
    openings = studies.Seal(Store(home), found).openings()
    lines = [f"study {found.name} ({study_hash(found)}): {'begun' if is_begun else 'not begun'} in {home}"]
    for row in rows:
        states = ", ".join(f"{n} {state}" for state, n in row.trials.items() if n) or "none begun"
        trials = f"{plural(row.n_trials, 'trial')} ({states})"
        lines.append(f"  {row.job}: {trials}; final runs {row.final_done} of {row.final_wanted}")
    if found.seed_procedure is not None:
        lines.append(f"{found.seed_procedure.sentence}. {found.seed_procedure.why_fair}")
        lines += [f"  {data}: {wave.sentence}" for data, wave in waves.items()]
    opened = [f"opened {first.at} by {first.who}, after selection, for {first.detail}" for first in openings[:1]]
    lines.append(f"test split: {''.join(opened) or 'sealed'}")
    lines += [f"  {event.at}  {event.who}  {event.kind}" for event in events]
    state = {"study": found.name, "hash": study_hash(found), "is_begun": is_begun, "is_sealed": not openings}
    state["waves"] = {data: wave.to_plain() for data, wave in waves.items()}
    plain = {"jobs": [row._asdict() for row in rows], "events": [event._asdict() for event in events]}
    return Answer({**state, **plain}, lines)


def study_answer(found: StudySpec, spawn: options.Spawn, *, home: Path, **settings: Any) -> Answer:
    try:
        result = run_found_study(found, spawn, home=home, **settings)
    except KeyboardInterrupt:
        command = f"fairground study resume {found.name}{run_directory.home_argument(home)}"
        return Answer(None, failure=f"stopped; nothing is lost. Continue with: {command}", exit_code=130)

    def lines() -> Iterator[str]:
        yield Verbatim(result.text(width=screen_width()).removesuffix("\n"))
        if result.page:
            yield f"page: {result.page.absolute()}  (open it in any browser)"

    failures = result.failures
    return Answer(result.to_dict(), lines(), failures.sentence(), failures.exit_code)
