"""What a person sees while a study runs: a bar for the whole and one for each run, or a line for each run."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairground.records.record import RunRecord

Watch = Callable[[Mapping[str, Any]], None]
Heard = Callable[["RunRecord"], None]


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
        yield _warn, lambda record: _line(record, next(n_done), total, metric)


def _warn(event: Mapping[str, Any]) -> None:
    if "worker_died" in event:
        print(f"a worker died ({event['worker_died']}); its run goes on in another", file=sys.stderr)


def _line(record: "RunRecord", n: int, total: int, metric: str) -> None:
    print(f"run {n} of at most {total}  {record.name}  {_title(record)}  {_result(record, metric)}", file=sys.stderr)


def _title(record: "RunRecord") -> str:
    loss, split = record.spec["loss"], record.spec["split"]
    assert isinstance(loss, Mapping)
    assert isinstance(split, Mapping)
    fold = f" fold {split['fold']}" if "fold" in split else ""
    return f"{loss['name']} seed {record.spec['seed']}{fold}"


def _result(record: "RunRecord", metric: str) -> str:
    return f"{_outcome(record, metric)}{_signs(record)}"


def _signs(record: "RunRecord") -> str:
    """Name what the doctor found; the sentences are in `fairground show` and in the report."""
    return f"  doctor: {', '.join(finding.sign for finding in record.findings)}" if record.findings else ""


def _outcome(record: "RunRecord", metric: str) -> str:
    if record.state != "done":
        return f"{record.state}: {record.failure}"
    test, validation = record.score(metric, "test"), record.score(metric, "validation")
    score, split = (test, "test") if test is not None else (validation, "validation")
    return "done" if score is None else f"{split} {metric} {score:.4f}"


@contextmanager
def _bars(total: int, metric: str) -> Iterator[tuple[Watch, Heard]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<34}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        whole = progress.add_task("runs (pruning may save some)", total=total, told="")
        tasks: dict[str, TaskID] = {}

        def watch(event: Mapping[str, Any]) -> None:
            if "worker_died" in event:
                progress.console.print(f"a worker died ({event['worker_died']}); its run goes on in another")
            if event.get("kind") != "batch":
                return
            run = event["run"]
            if run not in tasks:
                tasks[run] = progress.add_task(run, total=event["of"] * event["batches"], told="")
            done = (event["epoch"] - 1) * event["batches"] + event["batch"]
            progress.update(tasks[run], completed=done, told=f"loss {event['loss']:.4f}")

        def heard(record: "RunRecord") -> None:
            if record.name in tasks:
                progress.remove_task(tasks.pop(record.name))
            progress.update(whole, advance=1, told=f"{_title(record)}: {_result(record, metric)}")

        yield watch, heard
