"""What a person sees while a study runs: a bar for the whole and one for each run, or a line for each run."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairground.api.progress.run_bars import WIDE, OnRecord, RunBars, Watch, signs_found, warn

if TYPE_CHECKING:
    from fairground.records.record import RunRecord


@contextmanager
def study_progress(
    total: int,
    *,
    metric: str,
    is_quiet: bool,
    is_most: bool = False,
    titles: Mapping[str, str] | None = None,
) -> Iterator[tuple[Watch, OnRecord]]:
    """Yield what to call with the events of runs, and with their records.

    `total` is how many runs there are, or with `is_most` can be, as pruning or waves may save some; `titles` names runs
    in progress.
    """
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _bars(total, metric, is_most=is_most, titles=titles or {}) as pair:
            yield pair
    else:
        n_done = iter(range(1, 10**9))
        most = f"at most {total}" if is_most else str(total)
        said: set[str] = set()
        yield warn, lambda record: _line(record, f"{next(n_done)} of {most}", metric, said)


def _line(record: "RunRecord", number: str, metric: str, said: set[str]) -> None:
    print(f"run {number}  {record.name}  {_title(record)}  {_result(record, metric, said)}", file=sys.stderr)


def _title(record: "RunRecord") -> str:
    loss, split = record.spec["loss"], record.spec["split"]
    assert isinstance(loss, Mapping)
    assert isinstance(split, Mapping)
    fold = f" fold {split['fold']}" if "fold" in split else ""
    return f"{loss['name']} seed {record.spec['seed']}{fold}"


def _result(record: "RunRecord", metric: str, said: set[str]) -> str:
    return f"{_outcome(record, metric)}{signs_found(record, said)}"


def _outcome(record: "RunRecord", metric: str) -> str:
    from fairground.reporting.headings import with_unit

    if record.state != "done":
        return f"{record.state}: {record.failure}"
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, split = (test, "test") if test is not None else (validation, "validation")
    return "done" if score is None else f"{split} {metric} {with_unit(metric, score)}"


@contextmanager
def _bars(total: int, metric: str, *, is_most: bool, titles: Mapping[str, str]) -> Iterator[tuple[Watch, OnRecord]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column

    from fairground.api.terminal import console

    shown = console()
    is_wide = shown.width >= WIDE
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, min_width=34 if is_wide else 20)),
        BarColumn(bar_width=40 if is_wide else 10),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    said: set[str] = set()
    with Progress(*columns, console=shown) as progress:
        words = "runs, at most" if is_most else "runs"
        overall = progress.add_task(words, total=total, status="")
        bars = RunBars(progress)

        def on_record(record: "RunRecord") -> None:
            bars.end(record.name)
            status = f"{_title(record)}: {_result(record, metric, said)}"
            if is_wide:
                progress.update(overall, advance=1, status=status)
            else:
                # A narrow terminal has no room for it next to a bar.
                progress.console.print(status)
                progress.update(overall, advance=1)

        yield lambda event: bars.watch(event, lambda run: titles.get(run, run)), on_record
