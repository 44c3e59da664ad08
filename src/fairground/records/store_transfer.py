"""A home in one file, and one file into a home: for moving results, and for merging those of several machines.

    home.zip
        contents.json     sealed: the format, and the checksum of every other member
        records.jsonl     every record, superseded ones too, oldest first
        events.jsonl      what was noted, oldest first
        runs/<name>/...   the files of finished runs; their checkpoints where these were asked for
        studies/<hash>/   what each study asked, and its trials

Records are merged by the store's own rules: the same digits are the same news, other digits are noted as a
disagreement and kept in the history. A file that is there already is left as it is.

Whoever packed the file may mean harm: only files that runs and studies have are written, and specs that name code from
outside fairground are refused unless the user trusts it.
"""

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairground.errors import DataError, FairgroundError, StoreError, require
from fairground.files import parse_json, read_bytes, reading
from fairground.records.artefacts import RunFolder, write_atomically
from fairground.records.filters import Event
from fairground.records.record import RunRecord
from fairground.records.record_copy import write_copy
from fairground.records.rows import is_storable_text, require_storable
from fairground.records.sealed_json import sealed, unsealed
from fairground.records.store import Store
from fairground.records.stored_spec import is_own_spec
from fairground.spec.catalogue import dotted_paths

FORMAT, VERSION = "fairground home", 1
_CONTENTS, _RECORDS, _EVENTS = "contents.json", "records.jsonl", "events.jsonl"
#: what a member's path may be: nothing that leads anywhere but below the home
_MEMBER = re.compile(r"(runs|studies)/[A-Za-z0-9][A-Za-z0-9_-]{0,99}/(checkpoints/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: the files of runs and studies that are taken along
_TAKEN = re.compile(
    r"runs/[^/]+/((spec|inputs|manifest|threads)\.json|(gallery|embeddings|queries|analyses)\.npz)"
    r"|runs/[^/]+/checkpoints/(best-)?[0-9]+\.(json|safetensors)"
    r"|studies/[^/]+/(study\.json|search\.sqlite)"
)
#: what each home makes for itself; `record.json` is written with the record
_OWN = re.compile(r".*\.lock|.*\.html|.*\.tmp|runs/[^/]+/record\.json")
#: what a study must say to name code: its words are put together, and read as TOML, only when it runs
_CODE_IN_A_STUDY = re.compile(r":(?![\s0-9])|\\")
_FAULTS = (zipfile.BadZipFile, zlib.error, ValueError, KeyError, EOFError, RuntimeError, NotImplementedError, OSError)
#: above so many bytes, a member or all of them must not be this many times longer than they are packed
_LARGE, _MOST_UNPACKED = 64 << 20, 200
Progress = Callable[[int, int], None]


@dataclass(kw_only=True)
class Transfer:
    """How much went over: records by what became of them, events, files and their bytes; and what did not, and why."""

    records: int = 0
    repeated: int = 0
    history: int = 0
    events: int = 0
    files: int = 0
    bytes: int = 0
    left_out: list[str] = field(default_factory=list)

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
            records, done.left_out = store.everything()
            events = store.events()
            done.records, done.events = len(records), len(events)
            _put(archive, sums, _RECORDS, "".join(f"{record.to_json()}\n" for record in records).encode())
            _put(archive, sums, _EVENTS, "".join(json.dumps(asdict(event)) + "\n" for event in events).encode())
            paths = list(_exported(root, checkpoints, done.left_out)) if files else []
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


def import_home(
    source: Path, root: Path, progress: Progress = lambda *_: None, *, trust_code: bool = False
) -> Transfer:
    """Merge an exported file into a home; every member is checked before anything is written.

    `trust_code` also takes specs and studies that name code from outside fairground, which using them would run.
    """
    store, done = Store(root), Transfer()
    with _opened(source) as archive:
        sums = _contents(archive, source)
        files = [name for name in sums if _TAKEN.fullmatch(name)]
        done.left_out = [_no_file(name) for name in sums if not _is_expected(name)]
        for number, name in enumerate(files):
            progress(number, 2 * len(files))
            data = _member(archive, source, name, sums[name])
            if not trust_code:
                _refuse_code(_code_in(name, data), name, source)
        records = [RunRecord.from_json(line) for line in _lines(archive, source, _RECORDS, sums)]
        for record in records:
            require_storable(record)
            is_own = is_own_spec(record.spec, record.name)
            require(is_own, f"record {record.name} in {source} has the spec of another run", StoreError)
            if not trust_code:
                _refuse_code(dotted_paths(record.spec), f"run {record.name}", source)
        events = [_event(line, source) for line in _lines(archive, source, _EVENTS, sums)]
        for number, name in enumerate(files):
            progress(len(files) + number, 2 * len(files))
            if not (root / name).exists():
                data = _member(archive, source, name, sums[name])
                write_atomically(root / name, data)
                done.files, done.bytes = done.files + 1, done.bytes + len(data)
    new_records = [record for record in records if record not in store.known(record.name)]
    outcomes = store.append_all(new_records)
    _write_missing_copies(store, records)
    done.records, done.history = outcomes.count("current"), outcomes.count("history")
    done.repeated = len(records) - done.records - done.history
    known = set(store.events())
    new = [event for event in events if event not in known]
    store.take_over(new)
    done.events = len(new)
    store.note_event("imported", None, f"{source.name}: {done.records} records, {done.files} files")
    progress(1, 1)
    return done


def _exported(root: Path, checkpoints: bool, left_out: list[str]) -> Iterator[Path]:
    """Yield the files to export; what is no such file, or a link that leads anywhere, is said."""
    for place in ("runs", "studies"):
        for path in sorted((root / place).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_symlink():
                left_out.append(f"{name}: it is a link")
            elif not path.is_file() or (path.parent.name == "checkpoints" and not checkpoints):
                continue
            elif _TAKEN.fullmatch(name) and _MEMBER.fullmatch(name):
                yield path
            elif not _OWN.fullmatch(name):
                left_out.append(_no_file(name))


def _is_expected(name: str) -> bool:
    return name in (_RECORDS, _EVENTS) or bool(_TAKEN.fullmatch(name) or _OWN.fullmatch(name))


def _no_file(name: str) -> str:
    return f"{name}: runs and studies have no such file"


def _code_in(name: str, data: bytes) -> Iterator[str]:
    """Yield the code that a run or a study would use from outside fairground, by its file."""
    if not name.endswith(("/spec.json", "/study.json")):
        return
    try:
        asked = parse_json(data.decode(errors="replace"), name, error=DataError)
    except DataError:  # nothing can be run from it
        return
    if name.endswith("/spec.json"):
        yield from dotted_paths(asked)
    else:
        yield from (text for text in _texts(asked) if _CODE_IN_A_STUDY.search(text))


def _texts(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for item in [*data, *data.values()] if isinstance(data, dict) else data:
            yield from _texts(item)


def _refuse_code(found: Iterator[str], what: str, source: Path) -> None:
    path = next(found, None)
    complaint = f"{what} in {source} names code that is not fairground's, {path!r}, and using it would run that code"
    require(path is None, f"{complaint}: --trust-code imports it if you trust whoever wrote it", DataError)


def _write_missing_copies(store: Store, records: Sequence[RunRecord]) -> None:
    """Write the records of runs that the store had and that have a folder only now."""
    for name in {record.name for record in records}:
        if not RunFolder(store.root, name).record.exists():
            write_copy(store.root, store.get(name))


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
    _require_credible(str(source), source.stat().st_size, sum(archive.getinfo(name).file_size for name in sums))
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
    _require_credible(f"{name} in {source}", entry.compress_size, entry.file_size)
    return archive.read(entry)


def _require_credible(what: str, packed: int, unpacked: int) -> None:
    is_credible = unpacked <= _LARGE or unpacked <= _MOST_UNPACKED * max(1, packed)
    complaint = f"{what} claims to unpack {packed:,} bytes into {unpacked:,}: too much to be believed"
    require(is_credible, complaint, DataError)
