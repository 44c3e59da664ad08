"""What a person sees while a study runs: a bar for the whole and one for each run, or a line for each run."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairground.cli.run_bars import Heard, RunBars, Watch, signs_told, warn

if TYPE_CHECKING:
    from fairground.records.record import RunRecord


@contextmanager
def study_progress(total: int, *, metric: str, is_quiet: bool) -> Iterator[tuple[Watch, Heard]]:
    """Yield what to tell of runs under way, and of their records; `total` is how many runs there can be."""
    if is_quiet:
        yield lambda _: None, lambda _: None
    elif sys.stderr.isatty():
        with _bars(total, metric) as pair:
            yield pair
    else:
        n_done = iter(range(1, 10**9))
        yield warn, lambda record: _line(record, next(n_done), total, metric)


def _line(record: "RunRecord", n: int, total: int, metric: str) -> None:
    print(f"run {n} of at most {total}  {record.name}  {_title(record)}  {_result(record, metric)}", file=sys.stderr)


def _title(record: "RunRecord") -> str:
    loss, split = record.spec["loss"], record.spec["split"]
    assert isinstance(loss, Mapping)
    assert isinstance(split, Mapping)
    fold = f" fold {split['fold']}" if "fold" in split else ""
    return f"{loss['name']} seed {record.spec['seed']}{fold}"


def _result(record: "RunRecord", metric: str) -> str:
    return f"{_outcome(record, metric)}{signs_told(record)}"


def _outcome(record: "RunRecord", metric: str) -> str:
    if record.state != "done":
        return f"{record.state}: {record.failure}"
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, split = (test, "test") if test is not None else (validation, "validation")
    return "done" if score is None else f"{split} {metric} {score:.4f}"


@contextmanager
def _bars(total: int, metric: str) -> Iterator[tuple[Watch, Heard]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from fairground.cli.terminal import console

    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=console()) as progress:
        whole = progress.add_task("runs (pruning may save some)", total=total, told="")
        bars = RunBars(progress)

        def heard(record: "RunRecord") -> None:
            bars.end(record.name)
            progress.update(whole, advance=1, told=f"{_title(record)}: {_result(record, metric)}")

        yield bars.watch, heard
