"""What a person sees while a study runs: a bar for the whole and one for each run, or a line for each run."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairground.api.progress.run_bars import OnRecord, RunBars, Watch, signs_found, warn

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
        yield warn, lambda record: _line(record, f"{next(n_done)} of {most}", metric)


def _line(record: "RunRecord", number: str, metric: str) -> None:
    print(f"run {number}  {record.name}  {_title(record)}  {_result(record, metric)}", file=sys.stderr)


def _title(record: "RunRecord") -> str:
    loss, split = record.spec["loss"], record.spec["split"]
    assert isinstance(loss, Mapping)
    assert isinstance(split, Mapping)
    fold = f" fold {split['fold']}" if "fold" in split else ""
    return f"{loss['name']} seed {record.spec['seed']}{fold}"


def _result(record: "RunRecord", metric: str) -> str:
    return f"{_outcome(record, metric)}{signs_found(record)}"


def _outcome(record: "RunRecord", metric: str) -> str:
    if record.state != "done":
        return f"{record.state}: {record.failure}"
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, split = (test, "test") if test is not None else (validation, "validation")
    return "done" if score is None else f"{split} {metric} {score:.4f}"


@contextmanager
def _bars(total: int, metric: str, *, is_most: bool, titles: Mapping[str, str]) -> Iterator[tuple[Watch, OnRecord]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from fairground.api.terminal import console

    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[status]}"),
    )
    with Progress(*columns, console=console()) as progress:
        words = "runs, at most" if is_most else "runs"
        overall = progress.add_task(words, total=total, status="")
        bars = RunBars(progress)

        def on_record(record: "RunRecord") -> None:
            bars.end(record.name)
            progress.update(overall, advance=1, status=f"{_title(record)}: {_result(record, metric)}")

        yield lambda event: bars.watch(event, lambda run: titles.get(run, run)), on_record
