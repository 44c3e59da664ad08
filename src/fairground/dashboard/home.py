"""A home looked at again and again: its studies, its runs, and what has changed since the last look."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairground.dashboard.run_view import AT_WORK, STOPPED, RunView, from_folder, from_record
from fairground.dashboard.study_view import StudyView, StudyWatch
from fairground.errors import FairgroundError, InputError, require
from fairground.records.artefacts import RunFolder
from fairground.records.folders import resolve_run
from fairground.records.in_progress import run_in_progress
from fairground.records.store import Store
from fairground.report.headings import clean
from fairground.study.folder import begun_hint, begun_studies, find_begun


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
    """`mark` grows with every record stored; `complaints` says which study could not be read, and why."""

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
        self.mark, fresh = self._store.since(self.mark)
        for record in fresh:
            # At the end, where a run that was made again belongs too.
            self.runs.pop(record.name, None)
            self.runs[record.name] = from_record(record)
        self.in_progress = self._look_at_folders()
        self._look_at_studies()

    @property
    def finished(self) -> list[RunView]:
        """The runs that have a record and are to be watched, latest first."""
        wanted = set(self.chosen.runs)
        found = [run for run in self.runs.values() if not wanted or run.name in wanted]
        return found[::-1]

    def _look_at_folders(self) -> list[RunView]:
        try:
            names = sorted(entry.name for entry in os.scandir(self.root / "runs") if entry.is_dir())
        except OSError:
            names = []
        wanted = set(self.chosen.runs)
        found = []
        for name in names:
            if name in self.runs or (wanted and name not in wanted):
                continue
            try:
                seen = run_in_progress(RunFolder(self.root, name))
            except InputError:  # not a name of ours
                continue
            if seen is not None:
                found.append(from_folder(seen))
        order = {AT_WORK: 0, STOPPED: 1}
        return sorted(found, key=lambda run: (order.get(run.state, 2), run.started, run.name))

    def _look_at_studies(self) -> None:
        self.studies, self.complaints = [], []
        done = {name for name, run in self.runs.items() if run.state == "done"}
        try:
            begun = self._begun()
        except (FairgroundError, OSError, ValueError, KeyError, TypeError) as error:
            self.complaints.append(clean(f"a study in {self.root / 'studies'} cannot be read: {error}"))
            begun = sorted(self._watches)
        for hash_ in begun:
            try:
                self.studies.append(self._watches[hash_].look(done))
            except Exception as error:  # whatever is wrong with one study must not hide the others
                words = str(error).partition("\n")[0]
                self.complaints.append(clean(f"study {self._watches[hash_].study.name} cannot be read: {words}"))

    def _begun(self) -> list[str]:
        """Return the hashes of the studies to watch, reading a study's file once."""
        found = {path.parent.name for path in (self.root / "studies").glob("*/study.json")}
        if found - set(self._watches):
            for hash_, study in begun_studies(self.root).items():
                self._watches.setdefault(hash_, StudyWatch(study, self.root))
        wanted = set(self.chosen.studies)
        if self.chosen.runs and not wanted:
            return []
        return sorted(hash_ for hash_ in found & set(self._watches) if not wanted or hash_ in wanted)
