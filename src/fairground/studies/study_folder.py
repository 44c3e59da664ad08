"""Where a study is in a run directory, and how it is found again by its name, its hash or its file."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fairground.files import held, put_away, read_json, read_with_digest, sweep, write_atomically, write_with_digest
from fairground.records import ChangedError, Content, DamageWarning, FairgroundError, StoreError, changes_in, require
from fairground.spec import StudySpec, study_from_plain, study_hash, to_plain


@dataclass(frozen=True)
class StudyFolder:
    """<home>/studies/<hash>: study.json, content.json, trials.jsonl, report.html, history/, the lock of the driver."""

    path: Path

    @property
    def spec(self) -> Path:
        return self.path / "study.json"

    @property
    def page(self) -> Path:
        return self.path / "report.html"

    @contextmanager
    def locked(self, study: StudySpec) -> Iterator[None]:
        """Hold the study while the block lasts; a second driver is refused."""
        with held(self.path / "driver.lock", f"study {study.name} ({self.path.name})"):
            sweep(self.path)
            write_atomically(self.spec, json.dumps(to_plain(study), indent=1).encode())
            yield

    def begin(self, study: StudySpec, content: Content, *, on_again: Callable[[str], None] | None) -> None:
        """Note what the study's specs point at; if that changed, refuse, or put its trials away and call `on_again`."""
        path, trials = self.path / "content.json", self.path / "trials.jsonl"
        before = read_with_digest(path) if path.exists() else {} if trials.exists() else content
        if what := changes_in(before, content):
            if on_again is None:
                again = "`--again` (in Python `again=True`) searches again and makes again what changed"
                raise ChangedError(f"study {study.name} was begun with other content: {what}. {again}")
            on_again(what)
            put_away(self.path, trials.name, self.page.name, path.name)
        write_with_digest(path, content)


def folder_of(study: StudySpec, home: Path) -> StudyFolder:
    return StudyFolder(Path(home) / "studies" / study_hash(study))


def begun_studies(home: Path) -> dict[str, StudySpec]:
    """Return the studies begun under `home`, by hash, leaving out and naming those that cannot be read."""
    found = {}
    for path in sorted((home / "studies").glob("*/study.json")):
        try:
            found[path.parent.name] = stored_study(path)
        except StoreError as error:
            DamageWarning.warn(f"{error}. This study is left out.")
    return found


def find_begun(home: Path, word: str) -> StudySpec | None:
    """Return the begun study with this name, or with a hash that begins so; None when there is none."""
    begun = begun_studies(home)
    is_hash = len(word) >= 4
    matches = [study for name, study in begun.items() if study.name == word or (is_hash and name.startswith(word))]
    require(len(matches) < 2, f"'{word}' could be {', '.join(begun)}: use enough of the hash")
    return matches[0] if matches else None


def stored_study(path: Path) -> StudySpec:
    """Return the study in a `study.json`, refusing one that is damaged in a sentence that names it."""
    data = read_json(path, error=StoreError)
    try:
        return study_from_plain(data)
    except (FairgroundError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(f"{path} is damaged: it is not a study ({error})") from error
