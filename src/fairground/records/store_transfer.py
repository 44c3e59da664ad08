"""A home in one file, and one file into a home: for moving results, and for merging those of several machines.

    home.zip
        contents.json     sealed: the format, and the checksum of every other member
        records.jsonl     every record, superseded ones too, oldest first
        events.jsonl      what was noted, oldest first
        runs/<name>/...   the files of finished runs; their checkpoints where these were asked for
        studies/<hash>/   what each study asked, and its trials

Records are merged by the store's own rules: the same digits are the same news, other digits are noted as a
disagreement and kept in the history. A file that is there already is left as it is.
"""

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairground.errors import DataError, FairgroundError, StoreError, require
from fairground.files import parse_json, read_bytes, reading
from fairground.records.artefacts import is_temporary, write_atomically
from fairground.records.filters import Event
from fairground.records.record import RunRecord
from fairground.records.rows import is_storable_text, require_storable
from fairground.records.sealed_json import sealed, unsealed
from fairground.records.store import Store

FORMAT, VERSION = "fairground home", 1
_CONTENTS, _RECORDS, _EVENTS = "contents.json", "records.jsonl", "events.jsonl"
#: what a member's path may be: nothing that leads anywhere but below the home
_MEMBER = re.compile(r"(runs|studies)/[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(checkpoints/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LEFT_OUT = (".lock", ".html")
_FAULTS = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, OSError)
#: a member above this many bytes must not be this many times longer than it is packed
_LARGE, _MOST_UNPACKED = 64 << 20, 200
Progress = Callable[[int, int], None]


@dataclass(kw_only=True)
class Transfer:
    """How much went over: records by what became of them, events, files and their bytes."""

    records: int = 0
    repeated: int = 0
    history: int = 0
    events: int = 0
    files: int = 0
    bytes: int = 0

    def plain(self) -> dict[str, Any]:
        """Return the counts as JSON-ready data."""
        return asdict(self)


def export_home(
    root: Path, out: Path, *, checkpoints: bool = False, files: bool = True, progress: Progress = lambda *_: None
) -> Transfer:
    """Write everything of a home that others can use into one file; the file appears when it is complete."""
    store, done, sums = Store(root), Transfer(), dict[str, str]()
    require(store.path.exists(), f"there is no store in '{root}' to export")
    require(not out.exists(), f"'{out}' is there already; name a new file")
    part = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            records = [record for name in store.names() for record in store.history(name)]
            events = store.events()
            done.records, done.events = len(records), len(events)
            _put(archive, sums, _RECORDS, "".join(f"{record.to_json()}\n" for record in records).encode())
            _put(archive, sums, _EVENTS, "".join(json.dumps(asdict(event)) + "\n" for event in events).encode())
            paths = list(_exported(root, checkpoints)) if files else []
            for number, path in enumerate(paths):
                progress(number, len(paths))
                data = read_bytes(path, error=StoreError)
                _put(archive, sums, path.relative_to(root).as_posix(), data)
                done.files, done.bytes = done.files + 1, done.bytes + len(data)
            progress(len(paths), len(paths))
            archive.writestr(_CONTENTS, sealed({"format": FORMAT, "version": VERSION, "sha256": sums}))
        part.replace(out)
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return done


def import_home(source: Path, root: Path, progress: Progress = lambda *_: None) -> Transfer:
    """Merge an exported file into a home; every member is checked before anything is written."""
    store, done = Store(root), Transfer()
    with _opened(source) as archive:
        sums = _contents(archive, source)
        for number, name in enumerate(sums):
            progress(number, 2 * len(sums))
            _member(archive, source, name, sums[name])
        records = [RunRecord.from_json(line) for line in _lines(archive, source, _RECORDS, sums)]
        for record in records:
            require_storable(record)
        events = [_event(line, source) for line in _lines(archive, source, _EVENTS, sums)]
        for number, name in enumerate(name for name in sums if name not in (_RECORDS, _EVENTS)):
            progress(len(sums) + number, 2 * len(sums))
            if not (root / name).exists():
                data = _member(archive, source, name, sums[name])
                write_atomically(root / name, data)
                done.files, done.bytes = done.files + 1, done.bytes + len(data)
    outcomes = store.append_all(records)
    done.records = outcomes.count("current")
    done.repeated, done.history = outcomes.count("repeated"), outcomes.count("history")
    known = set(store.events())
    new = [event for event in events if event not in known]
    store.take_over(new)
    done.events = len(new)
    store.note_event("imported", None, f"{source.name}: {done.records} records, {done.files} files")
    progress(1, 1)
    return done


def _exported(root: Path, checkpoints: bool) -> Iterator[Path]:
    for place in ("runs", "studies"):
        for path in sorted((root / place).rglob("*")):
            name = path.relative_to(root).as_posix()
            is_wanted = _MEMBER.fullmatch(name) is not None and path.suffix not in _LEFT_OUT and not is_temporary(path)
            if is_wanted and path.is_file() and (checkpoints or path.parent.name != "checkpoints"):
                yield path


def _put(archive: zipfile.ZipFile, sums: dict[str, str], name: str, data: bytes) -> None:
    # Texts shrink to a tenth; arrays and weights are packed already or do not shrink.
    packed = zipfile.ZIP_DEFLATED if name.endswith((".json", ".jsonl", ".sqlite")) else zipfile.ZIP_STORED
    archive.writestr(name, data, compress_type=packed)
    sums[name] = hashlib.sha256(data).hexdigest()


@contextmanager
def _opened(source: Path) -> Iterator[zipfile.ZipFile]:
    with reading(source, error=DataError) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except FairgroundError:  # before ValueError, because our refusals are ValueErrors too
            raise
        except _FAULTS as error:
            raise DataError(f"{source} is not a readable export of a home: {error}") from error


def _contents(archive: zipfile.ZipFile, source: Path) -> dict[str, str]:
    body = unsealed(_unpacked(archive, source, _CONTENTS), f"{_CONTENTS} in {source}", error=DataError)
    require(body.get("format") == FORMAT, f"{source} is not an export of a fairground home", DataError)
    version = body.get("version")
    require(version == VERSION, f"{source} has version {version} of the format; this one reads {VERSION}", DataError)
    said = body.get("sha256")
    is_whole = isinstance(said, dict) and {_RECORDS, _EVENTS} <= said.keys()
    require(is_whole, f"{source} does not say which records and files it holds", DataError)
    sums = {str(name): str(digest) for name, digest in dict(body["sha256"]).items()}
    for name in sums:
        is_safe = name in (_RECORDS, _EVENTS) or _MEMBER.fullmatch(name) is not None
        require(is_safe, f"{source} holds {name!r}, which is no file of a home", DataError)
    return sums


def _lines(archive: zipfile.ZipFile, source: Path, name: str, sums: Mapping[str, str]) -> list[str]:
    return _member(archive, source, name, sums[name]).decode().splitlines()


def _event(line: str, source: Path) -> Event:
    """Return an event as it was noted; whoever packed the file may have written anything."""
    fields = parse_json(line, f"an event in {source}", error=DataError)
    is_event = fields.keys() == Event.__dataclass_fields__.keys() and all(
        is_storable_text(value) or (key == "run" and value is None) for key, value in fields.items()
    )
    require(is_event, f"{source} holds an event that is none: {line[:80]}", DataError)
    return Event(**fields)


def _member(archive: zipfile.ZipFile, source: Path, name: str, digest: str) -> bytes:
    data = _unpacked(archive, source, name)
    is_whole = hashlib.sha256(data).hexdigest() == digest
    require(is_whole, f"{name} in {source} does not match its checksum; copy the file anew", DataError)
    return data


def _unpacked(archive: zipfile.ZipFile, source: Path, name: str) -> bytes:
    entry = archive.getinfo(name)
    is_credible = entry.file_size <= _LARGE or entry.file_size <= _MOST_UNPACKED * max(1, entry.compress_size)
    complaint = f"{name} in {source} claims to unpack {entry.compress_size:,} bytes into {entry.file_size:,}"
    require(is_credible, f"{complaint}: too much to be believed", DataError)
    return archive.read(entry)
