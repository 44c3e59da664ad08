"""List, import or remove runs. In Python: runs as objects, found by their settings."""

from collections import UserList
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

from fairground import reporting
from fairground.commands import HOME, Answer, AnyPath, Home, home_argument, home_folder, list_runs, plural
from fairground.commands.keyword_overrides import Setting, keyword_overrides
from fairground.records import EpochRow, InputError, RunFolder, RunRecord, State, Store, records_of_csv, require
from fairground.spec import ROOM_OF, Value, canonical, data_name, method_name, nearest, parse_overrides


@dataclass(frozen=True, kw_only=True, repr=False)
class Run:
    """One run and its run directory. `is_new`: this call trained it; otherwise its record was there already."""

    record: RunRecord
    home: Path
    is_new: bool = False

    @property
    def name(self) -> str:
        """The run's name: the hash of its complete spec."""
        return self.record.name

    @property
    def state(self) -> State:
        """`done`, or how it ended otherwise; `record.failure` says why."""
        return self.record.state

    @property
    def scores(self) -> dict[str, float]:
        """The scores on the test classes by metric, once the run is done."""
        return {score.metric: score.value for score in self.record.scores if score.split == "test"}

    @property
    def validation_scores(self) -> dict[str, float]:
        """The scores of the selected model on the validation classes, by metric."""
        return {score.metric: score.value for score in self.record.scores if score.split == "validation"}

    @property
    def history(self) -> list[EpochRow]:
        """One row per epoch: the mean training loss and the validation scores. Epoch 0 is the untrained model."""
        return list(self.record.epochs)

    @property
    def folder(self) -> Path:
        """Where the run's files are: spec, checkpoints, embeddings, galleries."""
        return RunFolder(self.home, self.name).path

    def to_pandas(self) -> Any:
        """Return a data frame of pandas with one row per epoch: loss, seconds, scores such as `validation map@r`."""
        rows = []
        for row in self.history:
            scores = {"validation": row.validation, "test": row.test}
            named = {f"{split} {name}": value for split, found in scores.items() for name, value in found.items()}
            rows.append({**{key: value for key, value in vars(row).items() if key not in scores}, **named})
        return data_frame(rows)

    def __repr__(self) -> str:
        spec = self.record.spec
        about = f"{method_name(spec)} on {data_name(spec.get('data'))}, seed {spec.get('seed')}, {self.state}"
        scores = [f", test {metric} {reporting.with_unit(metric, value)}" for metric, value in self.scores.items()]
        return f"<Run {self.name}: {about}{''.join(scores[:2])}>"


class RunList(UserList[Run]):
    """Some runs, in the order they were stored."""

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records of the runs."""
        return tuple(run.record for run in self)

    def to_pandas(self) -> Any:
        """Return a data frame of pandas with one row per run: its name, state, settings and test scores."""
        about = ({"run": run.name, "state": run.state, **_settings(run.record), **run.scores} for run in self)
        return data_frame(list(about))

    def __repr__(self) -> str:
        return "\n".join(map(repr, self)) or "<no runs>"


def runs(
    *names: str,
    home: AnyPath | None = None,
    state: State | None = "done",
    trials: bool = False,
    **settings: Setting,
) -> RunList:
    """Return the runs of a run directory: all, those named, or those with certain settings.

    `names` are runs by name, or enough of its beginning, and methods by hash. The keywords are those of `train`:
    `fg.runs(loss="triplet", miner=None, **{"loss.margin": 0.2})`. Trials of a search, and models that a study joined
    out of others, are left out unless `trials` is true; `state=None` includes unfinished runs.
    """
    folder = home_folder(home)
    store, wanted = Store(folder), keyword_overrides(settings)
    # A component by its name in the store; a part that is left out is None.
    for key, value in wanted.items():
        if key in ROOM_OF and value is not None:
            wanted[key] = canonical(ROOM_OF[key], str(value))
    # What the store can search by itself.
    columns = {"loss": "loss", "data": "dataset", "protocol": "protocol", "seed": "seed"}
    searched: Any = {columns[key]: value for key, value in wanted.items() if key in columns}
    searched |= {} if state is None else {"state": state}
    found = store.named(names) if names else store.records(**searched)
    records = [record for record in found if state is None or record.state == state]
    if not (trials or names):
        records = without_trials(records)
    flat = [_settings(record) for record in records]
    known = {key for one in flat for key in one}
    for key in wanted:
        require(not known or key in known, f"no run has a setting '{key}'.{nearest(key, known)}")
    kept = [all(one.get(key) == value for key, value in wanted.items()) for one in flat]
    return RunList(Run(record=record, home=folder) for record in compress(records, kept))


def names_and_runs(given: Iterable[str | Run | Iterable[str | Run]]) -> tuple[list[str], list[Run]]:
    """Return the names, and the runs, of what a function was given one at a time or in lists."""
    each = [one for some in given for one in ([some] if isinstance(some, Run | str) else some)]
    return [one for one in each if isinstance(one, str)], [one for one in each if isinstance(one, Run)]


def data_frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise InputError("to_pandas needs a package that is not installed: pip install pandas") from error
    return pandas.DataFrame(rows)


def without_trials(records: Iterable[RunRecord]) -> list[RunRecord]:
    """Leave out the trials of a search, and the models that a study joined out of others."""
    return [record for record in records if not record.is_trial and "ensemble" not in record.spec]


def _settings(record: RunRecord) -> dict[str, Any]:
    """Return the settings of a run by dotted key; that of a component itself is its name."""
    found: dict[str, Any] = {}
    for head, part in record.spec.items():
        if isinstance(part, Mapping):
            found[head] = part.get("name")
            found |= {f"{head}.{inner}": value for inner, value in part.items()}
        else:
            found[head] = part
    return found


def import_runs(file: AnyPath, *, percent: bool = False, home: AnyPath | None = None, **columns: str) -> RunList:
    """Import results of others from a CSV file and return them as runs.

    The keywords are what the file calls otherwise or does not say: `dataset="cub200", **{"recall@1": "e_recall@1"}`.
    """
    return _stored(Path(file), columns, percent, home_folder(home))[0]


def import_command(
    file: Annotated[Path, "FILE", "A CSV file with one row per run, or an export of Weights & Biases."],
    words: Annotated[
        Sequence[str], "[COLUMN=THEIRS]...", "What the file calls otherwise or does not say: dataset=cub200 loss=crit"
    ] = (),
    percent: Annotated[bool, "The file has per cent; 63.2 is then 0.632."] = False,
    home: Home = HOME,
) -> Answer:
    """Import results of others. They stand in tables, marked as imported, and no verdict is made on them.

    Columns: method or loss, dataset, perhaps seed and protocol, and metrics such as recall@1. Of a history with a
    column step, the last row of each run counts. Runs of a protocol stand on its page of the report.

    Examples: fairground runs import results.csv --percent ·
    fairground runs import history.csv method=margin dataset=cub200 recall@1=e_recall@1
    """
    found, unused = _stored(file, parse_overrides(words), percent, home)
    n_new = sum(run.is_new for run in found)
    lines = [f"{plural(n_new, 'run')} imported, {len(found) - n_new} were there already"]
    lines += [f"columns not used: {', '.join(unused)}"] if unused else []
    lines += [f"next: fairground compare{home_argument(home)}"]
    return Answer({"runs": [run.name for run in found], "columns_not_used": unused}, lines)


def _stored(file: Path, said: Mapping[str, Value], is_percent: bool, home: Path) -> tuple[RunList, list[str]]:
    records, unused = records_of_csv(file, said, is_percent=is_percent)
    store = Store(home)
    new = [record for record in records if not RunFolder(home, record.name).record.exists()]
    for record in (record for record in records if record not in new):
        is_same = store.get(record.name).digits() == record.digits()
        hint = f"delete it first with `fairground runs remove {record.name}{home_argument(home)}`"
        require(is_same, f"{record.name} was imported before with other scores: {hint}")
    store.append_all(new)
    return RunList(Run(record=record, home=home, is_new=record in new) for record in records), unused


def remove(
    names: Annotated[list[str], "RUN...", "Names of runs, or the beginnings of them."], home: Home = HOME
) -> Answer:
    """Delete runs and all their files. Record, history, checkpoints and embeddings go.

    Example: fairground runs remove 3f2a 77c1
    """
    store = Store(home)
    removed = [store.remove(name) for name in names]
    return Answer({"removed": removed}, [f"removed run {name}" for name in removed])


COMMANDS = {"list": list_runs, "import": import_command, "remove": remove}
