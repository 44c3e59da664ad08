"""Compare methods: whether one is better than another, and whether they may be compared at all."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from fairground.commands import Answer, Verbatim, options, options_of, run_directory, screen_width
from fairground.commands.runs import Run, data_frame, names_and_runs, without_trials
from fairground.comparison.comparison_result import LEVEL, GeneralityKind
from fairground.records import RunFolder, RunRecord, Store, grouped
from fairground.reporting import ResultTable, comparison_text, latex, over_tables, section_key
from fairground.spec import InputError, data_name, nearest, require


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
        return {**comparison_text.plain(self.result, is_shown=is_shown), "hints": list(self.hints)}

    def to_pandas(self) -> Any:
        """Return a data frame of pandas with one row per method: per metric its mean and the ends of its interval."""
        rows = []
        for row in self.result.rows:
            spans = {metric: cell.interval for metric, cell in row.cells.items() if cell.interval is not None}
            ends = {f"{metric} {end}": getattr(span, end) for metric, span in spans.items() for end in ("low", "high")}
            means = {metric: span.mean for metric, span in spans.items()}
            rows.append({"method": row.label, "hash": row.key, "n_runs": row.n_runs, **means, **ends})
        return data_frame(rows)

    def to_latex(self) -> str:
        """Return the table for a paper."""
        return latex(self.result)

    def refusal(self) -> str:
        """Return every difference that makes the comparison unfair, with why it matters."""
        return comparison_text.refusal(self.result)

    def __str__(self) -> str:
        return comparison_text.text(self.result, hints=self.hints)

    def __repr__(self) -> str:
        fair = "fair" if self.is_fair else "unfair"
        return f"<MethodComparison of {len(self.result.rows)} methods by {self.metric}: {fair}>"


def compare(
    *runs: Run | str | Sequence[Run | str],
    metric: options.Metric = None,
    anyway: Annotated[bool, "Show an unfair table too, with every row marked."] = False,
    level: Annotated[float, "Joint confidence level of all intervals."] = LEVEL,
    margin: Annotated[
        float | None, "Largest difference that does not matter, in the unit shown (default: 0.5)."
    ] = None,
    generality: Annotated[
        GeneralityKind, "What verdicts generalise to: other trainings (seeds), other test classes, or both."
    ] = "seeds",
    home: run_directory.AnyHome = None,
    quiet: bool = False,
) -> MethodComparison:
    """Compare methods fairly and print one table with a verdict on every pair, or refuse with every reason.

    `runs` are what `fg.runs` and `fg.train` return, names of runs, hashes of methods, or lists of these (default: all
    finished runs).
    Runs that differ in more than the method raise an `InputError`, unless `anyway` is true: then every row is marked as
    unfair. `level` is the joint confidence level of all intervals; `margin` is the largest difference that does not
    matter, in the unit shown (default: 0.5). `generality` is what verdicts generalise to: other trainings ("seeds"),
    other test "classes", or "both". `quiet` prints nothing.
    """
    folder = run_directory.home_folder(home)
    names, chosen = names_and_runs(runs)
    records = {run.name: run.record for run in chosen}
    if names or not runs:
        records |= {record.name: record for record in records_to_compare(Store(folder), names)}
    homes = list(dict.fromkeys([*(run.home for run in chosen), *([folder] if names or not chosen else [])]))
    asked: dict[str, Any] = {"metric": metric, "level": level, "margin": margin, "generality": generality}
    found = comparison_of(list(records.values()), homes, **asked)
    if not (found.is_fair or anyway):
        raise InputError(f"{found.refusal()}\n`anyway=True` shows the table with every row marked unfair.")
    if not quiet:
        print(found, end="")
    return found


def comparison_of(
    records: Sequence[RunRecord], homes: Sequence[Path], *, generality: GeneralityKind = "seeds", **settings: Any
) -> MethodComparison:
    """Return the comparison of the methods of some runs, fair or not, with hints at repeats that are not used."""
    kinds = get_args(GeneralityKind)
    require(generality in kinds, f"generality must be one of {', '.join(kinds)}; got '{generality}'")
    is_any = any(record.state == "done" for record in records)
    require(is_any, f"there is no finished run to compare in {', '.join(map(str, homes))}")
    folders = [RunFolder(home, record.name) for home in homes for record in records] if generality != "seeds" else []
    known = {folder.path.name: folder for folder in folders if folder.path.is_dir()}
    result = comparison_text.compare_records(records, over=generality, folders=known, **settings)
    # A run named alone, although its method was run more often.
    named, hints = {record.name for record in records}, list[str]()
    shown = {record.name for row in result.imported for record in row.records}
    if others := _names_of_data(record for record in records if record.is_imported and record.name not in shown):
        hints.append(f"imported results on other data sets are left out: {', '.join(others)}")
    for finished in (Store(home).names_by_method(state="done") for home in homes):
        for method in dict.fromkeys(record.method for record in records):
            if n := len(set(finished.get(method, ())) - named):
                hints.append(f"{n} more finished of a method in the table: name it by its hash, {method}, for all")
    return MethodComparison(result=result, hints=tuple(hints))


def records_to_compare(store: Store, names: Sequence[str], *, data: str | None = None) -> list[RunRecord]:
    """Return the named runs, or all finished ones except trials and joined models; of one data set if given."""
    found = store.named(names) if names else without_trials(store.records(state="done"))
    if data is None:
        return found
    known = _names_of_data(found)
    require(data in known, f"no run is on a data set '{data}'; there are {', '.join(known)}.{nearest(data, known)}")
    return [record for record in found if _names_of_data([record]) == [data]]


def _names_of_data(records: Iterable[RunRecord]) -> list[str]:
    return list(dict.fromkeys(data_name(record.spec.get("data", "?")) for record in records))


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
    over_datasets: Annotated[bool, "Also rank the methods over all data sets."] = False,
    **interval: Any,
) -> Answer:
    """Compare methods fairly: one table with a verdict on every pair, or every reason why there cannot be one.

    Examples: fairground compare · fairground compare 3f2a 77c1 9b0e · fairground compare --metric recall@1 ·
    fairground compare --generality both --margin 0.3
    """
    records = records_to_compare(Store(home), runs or [], data=data)
    if over_datasets:
        is_plain = generality == "seeds" and not anyway and data is None
        require(is_plain, "--over-datasets compares fair tables over seeds; leave out --anyway, --data, --generality")
        return _compare_over_datasets(records, home, metric, **interval)
    found = comparison_of(records, [home], metric=metric, generality=generality, **interval)
    if found.is_fair or anyway:
        return _printed(found.to_dict, comparison_text.text(found.result, hints=found.hints, width=screen_width()))
    names = _names_of_data(records)
    one = f"`--data {shlex.quote(names[0])}` selects the runs on one data set; there are {', '.join(names)}.\n"
    hint = f"{one if len(names) > 1 else ''}`--anyway` shows the table with every row marked unfair."
    return Answer(found.to_dict(is_shown=False), failure=f"{found.refusal()}\n{hint}", exit_code=2)


def _printed(data: Any, *parts: str) -> Answer:
    return Answer(data, [Verbatim("\n".join(parts).removesuffix("\n"))])


def _compare_over_datasets(records: Iterable[RunRecord], home: Path, metric: str | None, **interval: Any) -> Answer:
    """Compare methods on each of several data sets, each run under one protocol, and over all of them."""
    # Joined models are not repeats of single ones.
    ours = [record for record in records if "ensemble" not in record.spec and not record.is_imported]
    found = {}
    for data, group in grouped((section_key(record)[0], record) for record in ours).items():
        names = dict.fromkeys(section_key(record)[1] for record in group)
        several = f"data set '{data}' was run under several protocols, {', '.join(names)}: name the runs"
        require(len(names) == 1, several)
        found[data] = comparison_of(group, [home], metric=metric, **interval)
        if not found[data].is_fair:
            raise InputError(f"{data}: {found[data].refusal()}")
    over = over_tables({data: one.result for data, one in found.items()}, **interval)
    plain = {"datasets": {data: one.to_dict() for data, one in found.items()}, "over_datasets": over.plain()}
    return _printed(plain, *(f"{data}\n{one}" for data, one in found.items()), over.text())
