"""Compare methods: whether one is better than another, and whether they may be compared at all."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from fairground.commands import options
from fairground.commands.command import Answer, options_of
from fairground.commands.runs import Run, RunList, named_records, without_trials
from fairground.commands.terminal import Verbatim, screen_width
from fairground.comparison.comparison_result import LEVEL, GeneralityKind
from fairground.errors import InputError, require
from fairground.records.record import RunRecord
from fairground.records.run_folder import RunFolder
from fairground.records.store import Store
from fairground.reporting import comparison
from fairground.reporting.over_datasets import OverTables, over_tables
from fairground.reporting.run_set import section_key
from fairground.reporting.table_formats import latex
from fairground.reporting.tables import ResultTable
from fairground.spec.catalogue import nearest
from fairground.spec.identity import data_name


@dataclass(frozen=True, kw_only=True, repr=False)
class MethodComparison:
    """A comparison of methods; `str` is what `fairground compare` prints."""

    result: ResultTable
    hints: tuple[str, ...] = ()

    @property
    def is_fair(self) -> bool:
        """Whether the methods may share a table."""
        return self.result.is_fair

    @property
    def metric(self) -> str:
        """What the methods are compared by."""
        return self.result.primary

    @property
    def best(self) -> tuple[str, ...]:
        """The methods that no other is better than."""
        return self.result.best

    def to_dict(self, *, is_shown: bool = True) -> dict[str, Any]:
        """Return everything as JSON-ready data, as `fairground compare --json` prints it."""
        return {**comparison.plain(self.result, is_shown=is_shown), "hints": list(self.hints)}

    def to_latex(self) -> str:
        """Return the table for a paper."""
        return latex(self.result)

    def refusal(self) -> str:
        """Return every difference that makes the comparison unfair, with why it matters."""
        return comparison.refusal(self.result)

    def __str__(self) -> str:
        return comparison.text(self.result, hints=self.hints)

    def __repr__(self) -> str:
        fair = "fair" if self.is_fair else "unfair"
        return f"<MethodComparison of {len(self.result.rows)} methods by {self.metric}: {fair}>"


def compare(
    *runs: RunList | Run | str,
    metric: options.Metric = None,
    anyway: Annotated[bool, "Show an unfair table too, with every row marked."] = False,
    level: Annotated[float, "Joint confidence level of all intervals."] = LEVEL,
    margin: Annotated[
        float | None, "Largest difference that does not matter, in the unit shown (default: 0.5)."
    ] = None,
    generality: Annotated[
        GeneralityKind, "What verdicts generalise to: other trainings (seeds), other test classes, or both."
    ] = "seeds",
    home: options.AnyHome = None,
    quiet: bool = False,
) -> MethodComparison:
    """Compare methods fairly and print one table with a verdict on every pair, or refuse with every reason.

    `runs` are what `fg.runs` and `fg.train` return, names of runs, or hashes of methods (default: all finished runs).
    Runs that differ in more than the method raise an `InputError`, unless `anyway` is true: then every row is marked as
    unfair. `level` is the joint confidence level of all intervals; `margin` is the largest difference that does not
    matter, in the unit shown (default: 0.5). `generality` is what verdicts generalise to: other trainings ("seeds"),
    other test "classes", or "both". `quiet` prints nothing.
    """
    records, homes = _records(runs, options.home_folder(home))
    found = comparison_of(records, homes=homes, metric=metric, level=level, margin=margin, generality=generality)
    if not (found.is_fair or anyway):
        raise InputError(f"{found.refusal()}\n`anyway=True` shows the table with every row marked unfair.")
    if not quiet:
        print(found, end="")
    return found


@dataclass(frozen=True, kw_only=True, repr=False)
class DatasetsComparison:
    """Methods compared on each data set and over all: `str` is what `fairground compare --over-datasets` prints."""

    by_dataset: Mapping[str, MethodComparison]
    over: OverTables

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready data."""
        datasets = {dataset: found.to_dict() for dataset, found in self.by_dataset.items()}
        return {"datasets": datasets, "over_datasets": self.over.plain()}

    def __str__(self) -> str:
        parts = [f"{dataset}\n{found}" for dataset, found in self.by_dataset.items()]
        return "\n".join([*parts, self.over.text()])

    def __repr__(self) -> str:
        return f"<DatasetsComparison over {', '.join(self.by_dataset)} by {self.over.metric}>"


def compare_over_datasets(
    *runs: RunList | Run | str,
    metric: str | None = None,
    level: float = LEVEL,
    margin: float | None = None,
    home: options.AnyPath | None = None,
    quiet: bool = False,
) -> DatasetsComparison:
    """Compare methods on each of several data sets and over all of them: ranks, interquartile means, differences.

    `runs` are as in `compare`. All data sets must have at least two methods in common, and each be run under one
    protocol; a table that is not fair is refused with every reason.
    """
    kept, homes = _records(runs, options.home_folder(home))
    groups: dict[str, list[RunRecord]] = {}
    protocols: dict[str, dict[str, None]] = {}
    for record in kept:
        # Joined models are not repeats of single ones.
        if "ensemble" not in record.spec:
            data, protocol = section_key(record)
            groups.setdefault(data, []).append(record)
            protocols.setdefault(data, {})[protocol] = None
    for data, found in protocols.items():
        require(
            len(found) == 1, f"data set '{data}' was run under several protocols, {', '.join(found)}: name the runs"
        )
    compared = {
        data: comparison_of(records, homes=homes, metric=metric, level=level, margin=margin)
        for data, records in groups.items()
    }
    for data, one in compared.items():
        if not one.is_fair:
            raise InputError(f"{data}: {one.refusal()}")
    over = over_tables({data: one.result for data, one in compared.items()}, level=level, margin=margin)
    result = DatasetsComparison(by_dataset=compared, over=over)
    if not quiet:
        print(result, end="")
    return result


def comparison_of(
    records: Iterable[RunRecord],
    *,
    homes: Sequence[Path],
    metric: str | None = None,
    level: float = LEVEL,
    margin: float | None = None,
    generality: GeneralityKind = "seeds",
) -> MethodComparison:
    """Return the comparison of the methods of some runs, fair or not, with hints at repeats that are not used."""
    kinds = get_args(GeneralityKind)
    require(generality in kinds, f"generality must be one of {', '.join(kinds)}; got '{generality}'")
    kept = list(records)
    is_any = any(record.state == "done" for record in kept)
    require(is_any, f"there is no finished run to compare in {', '.join(map(str, homes))}")
    folders = [RunFolder(home, record.name) for home in homes for record in kept] if generality != "seeds" else []
    result = comparison.compare_records(
        kept,
        metric=metric,
        level=level,
        margin=margin,
        over=generality,
        folders={folder.path.name: folder for folder in folders if folder.path.is_dir()},
    )
    hints = (hint for home in homes for hint in _hints(Store(home), kept))
    return MethodComparison(result=result, hints=tuple(hints))


def records_to_compare(store: Store, names: Iterable[str], *, data: str | None = None) -> list[RunRecord]:
    """Return the named runs, or all finished ones except trials and joined models; of one data set if given."""
    words = list(names)
    found = named_records(store, words) if words else without_trials(store.records(state="done"))
    if data is None:
        return found
    known = names_of_data(found)
    require(data in known, f"no run is on a data set '{data}'; there are {', '.join(known)}.{nearest(data, known)}")
    return [record for record in found if names_of_data([record]) == [data]]


def names_of_data(records: Iterable[RunRecord]) -> list[str]:
    """Return the names of the data sets of some runs, each once."""
    return list(dict.fromkeys(data_name(record.spec.get("data", "?")) for record in records))


def _records(runs: Iterable[RunList | Run | str], home: Path) -> tuple[list[RunRecord], list[Path]]:
    """Return each run once, and the run directories they are in."""
    store, found, homes = Store(home), dict[str, RunRecord](), dict[Path, None]()
    for what in runs:
        some: Iterable[Run]
        if isinstance(what, str):
            some = [Run(record=record, home=home) for record in named_records(store, [what])]
        else:
            some = [what] if isinstance(what, Run) else what
        for run in some:
            found[run.name] = run.record
            homes[run.home] = None
    return list(found.values()) if runs else records_to_compare(store, []), list(homes) or [home]


def _hints(store: Store, records: Iterable[RunRecord]) -> list[str]:
    """Name the repeats that are not used: a run named alone, although its method was run more often."""
    kept = list(records)
    named = {record.name for record in kept}
    finished = store.names_by_method(state="done")
    hints = []
    for method in dict.fromkeys(record.method for record in kept):
        n_others = len(set(finished.get(method, ())) - named)
        if n_others:
            hints.append(f"{n_others} more finished of a method in the table: name it by its hash, {method}, for all")
    return hints


@options_of(compare)
def compare_command(
    metric: str | None,
    anyway: bool,
    generality: GeneralityKind,
    home: Path,
    runs: Annotated[
        list[str] | None,
        "[RUNS]...",
        "Runs by name or the beginning of it, or methods by hash (default: all runs except trials).",
    ] = None,
    data: Annotated[str | None, "Only runs on this data set, by its name in `fairground list runs`."] = None,
    values: Annotated[
        Path | None,
        "Compare the numbers of a CSV file instead of runs: columns method, seed, value and, if any, dataset, fold.",
    ] = None,
    lower_is_better: Annotated[bool, "With --values: lower numbers are better."] = False,
    over_datasets: Annotated[bool, "Also rank the methods over all data sets."] = False,
    **interval: Any,
) -> Answer:
    """Compare methods fairly: one table with a verdict on every pair, or every reason why there cannot be one.

    Examples: fairground compare · fairground compare 3f2a 77c1 9b0e · fairground compare --metric recall@1 ·
    fairground compare --generality both · fairground compare --values results.csv --margin 0.3
    """
    if values is not None:
        is_bare = not runs and metric is None and generality == "seeds" and data is None
        require(is_bare, "--values compares a file's numbers; leave out runs, --data, --metric and --generality")
        return _compare_file(values, is_over=over_datasets, higher_is_better=not lower_is_better, **interval)
    require(not lower_is_better, "--lower-is-better belongs to --values; runs say which way their metrics are better")
    if over_datasets:
        is_plain = generality == "seeds" and not anyway and data is None
        require(is_plain, "--over-datasets compares fair tables over seeds; leave out --anyway, --data, --generality")
        over = compare_over_datasets(*runs or (), metric=metric, home=home, quiet=True, **interval)
        return Answer(over.to_dict(), [Verbatim(str(over).removesuffix("\n"))])
    records = records_to_compare(Store(home), runs or [], data=data)
    found = comparison_of(records, homes=[home], metric=metric, generality=generality, **interval)
    is_shown = found.is_fair or anyway
    if is_shown:
        text = comparison.text(found.result, hints=found.hints, width=screen_width())
        return Answer(found.to_dict(), [Verbatim(text.removesuffix("\n"))])
    names = names_of_data(records)
    one = f"`--data {shlex.quote(names[0])}` selects the runs on one data set; there are {', '.join(names)}.\n"
    hint = f"{one if len(names) > 1 else ''}`--anyway` shows the table with every row marked unfair."
    return Answer(found.to_dict(is_shown=False), failure=f"{found.refusal()}\n{hint}", exit_code=2)


def _compare_file(path: Path, *, is_over: bool, **settings: Any) -> Answer:
    from fairground.comparison.compare_values import compare_values
    from fairground.comparison.over_datasets import over_datasets
    from fairground.reporting import over_datasets as over_reports

    read = comparison.read_values(path)
    found = {dataset: compare_values(values, **settings) for dataset, values in read.items()}
    over = over_datasets(read, **settings) if is_over else None
    plain = [{"dataset": name or None, **comparison.values_plain(one)} for name, one in found.items()]
    aggregated = None if over is None else over_reports.values_plain(over)
    parts = [comparison.values_text(one, dataset=name) for name, one in found.items()]
    text = "\n".join([*parts, *([] if over is None else [over_reports.values_text(over)])])
    # One data set is the usual case: its pairs are at hand without asking for a data set.
    data = plain[0] if len(plain) == 1 else {"datasets": plain, "over_datasets": aggregated}
    return Answer(data, [Verbatim(text.removesuffix("\n"))])
