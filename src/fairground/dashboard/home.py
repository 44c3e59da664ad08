"""A home looked at again and again: its studies, its runs, and what has changed since the last look."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from fairground.dashboard.run_view import AT_WORK, STOPPED, RunView, from_folder, from_record
from fairground.dashboard.study_view import StudyView, StudyWatch
from fairground.errors import FairgroundError, InputError, require
from fairground.records.run_folder import RunFolder, folder_names, resolve_run, run_in_progress
from fairground.records.store import Store
from fairground.reporting.headings import clean
from fairground.studies.folder import begun_hint, find_begun, stored_study


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """What to watch: studies by hash and runs by name; everything where nothing was named."""

    studies: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()

    @property
    def is_everything(self) -> bool:
        """Tell whether nothing was named."""
        return not (self.studies or self.runs)


def choose(words: Sequence[str], home: Path) -> Chosen:
    """Return what the words name, each a begun study, a run, or a method by its hash; refuse what is neither."""
    store = Store(home)
    studies: list[str] = []
    runs: list[str] = []
    for word in words:
        study = find_begun(home, word)
        if study is not None:
            studies.append(StudyWatch(study, home).hash)
        else:
            runs += store.names(method=word) or [_run(store, word)]
    return Chosen(studies=tuple(dict.fromkeys(studies)), runs=tuple(dict.fromkeys(runs)))


def _run(store: Store, word: str) -> str:
    for find in (store.resolve, lambda name: resolve_run(store.root, name)):
        try:
            return find(word)
        except InputError as error:
            is_ambiguous = "could be" in str(error)
            require(not is_ambiguous, str(error))
    hint = begun_hint(store.root, word)
    raise InputError(f"no study or run '{word}' in {store.root}.{hint} `fairground list runs` lists them.")


@dataclass
class Home:
    """`mark` says up to which record the store was read; `complaints` what could not be read, and why."""

    root: Path
    chosen: Chosen = field(default_factory=Chosen)
    mark: int = 0
    runs: dict[str, RunView] = field(default_factory=dict)
    in_progress: list[RunView] = field(default_factory=list)
    studies: list[StudyView] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._store = Store(self.root)
        self._watches: dict[str, StudyWatch] = {}

    def refresh(self) -> None:
        """Look again: at new records, at runs that have none yet, and at the studies."""
        self.complaints = []
        for look in (self._read_store, self._look_at_folders, self._look_at_studies):
            with self._complaining():
                look()

    @property
    def finished(self) -> list[RunView]:
        """The runs that have a record and are to be watched, latest first."""
        wanted = set(self.chosen.runs)
        found = [run for run in self.runs.values() if not wanted or run.name in wanted]
        return found[::-1]

    @contextmanager
    def _complaining(self, what: str = "") -> Iterator[None]:
        """Say that something cannot be read: whatever is wrong with it must not hide the rest."""
        try:
            yield
        except Exception as error:
            words = sentence_of(error)
            self.complaints.append(clean(f"{what} cannot be read: {words}") if what else words)

    def _read_store(self) -> None:
        """Read the records that are new."""
        self.mark, fresh = self._store.since(self.mark)
        for record in fresh:
            # At the end, where a run that was made again belongs too.
            self.runs.pop(record.name, None)
            self.runs[record.name] = from_record(record)

    def _look_at_folders(self) -> None:
        wanted = set(self.chosen.runs)
        found, unknown = [], []
        for name in sorted(folder_names(self.root) - self.runs.keys()):
            if wanted and name not in wanted:
                continue
            with self._complaining(f"run {name}"), suppress(InputError):  # not a name of ours
                folder = RunFolder(self.root, name)
                seen = run_in_progress(folder)
                if seen is not None and not seen.is_at_work and folder.record.exists():
                    unknown.append(name)
                elif seen is not None:
                    found.append(from_folder(seen))
        if unknown:
            self.complaints.append(_unknown(unknown))
        order = {AT_WORK: 0, STOPPED: 1}
        self.in_progress = sorted(found, key=lambda run: (order.get(run.state, 2), run.started, run.name))

    def _look_at_studies(self) -> None:
        self.studies = []
        done = {name for name, run in self.runs.items() if run.state == "done"}
        for path in sorted((self.root / "studies").glob("*/study.json")):
            hash_ = path.parent.name
            known = self._watches.get(hash_)
            if self._is_wanted(hash_):
                with self._complaining(f"study {known.study.name if known else hash_}"):
                    watch = known or StudyWatch(stored_study(path), self.root)
                    self._watches[hash_] = watch
                    self.studies.append(watch.look(done))

    def _is_wanted(self, study: str) -> bool:
        return self.chosen.is_everything or study in self.chosen.studies


def _unknown(names: Sequence[str]) -> str:
    some = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    have = "run has" if len(names) == 1 else "runs have"
    return f"{len(names)} finished {have} no readable record ({some})"


def sentence_of(error: Exception) -> str:
    """Return what went wrong in one line; what is not ours also says its kind."""
    words = str(error) if isinstance(error, FairgroundError) else f"{type(error).__name__}: {error}"
    return clean(words.partition("\n")[0])[:600]
