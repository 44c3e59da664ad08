"""Archives of published data sets: where they are, what they must be, and how they become a folder.

A file is fetched as `FILE.part` in the folder `TARGET.download`; after a broken connection or a kill, only the rest is.
All is unpacked beside the target, counted by the data set, and renamed at the end: there is the whole data set or none.
"""

import errno
import gzip
import hashlib
import shutil
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
from zlib import error as ZlibError

from fairground.errors import DataError, FairgroundError, require
from fairground.files import held, open_file

#: takes what is being done, how much is done, and of how much
Tell = Callable[[str, int, int], None]
_BLOCK, _SILENCE = 2**20, 60.0


class Archive(NamedTuple):
    """A file as published; what is not known of it is empty."""

    file: str
    address: str = ""
    n_bytes: int = 0
    sha256: str = ""
    md5: str = ""


class Download(NamedTuple):
    """A data set in one or more `ways`, each the files that make it whole, and what to do if they have no address."""

    ways: tuple[tuple[Archive, ...], ...]
    licence: str
    by_hand: str = ""


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
DOWNLOADS: Mapping[str, Download] = {
    name: Download(**{**entry, "ways": tuple(tuple(Archive(**file) for file in way) for way in entry["ways"])})
    for name, entry in _TABLE.items()
}


def files_to_get(name: str, given: Sequence[str] = ()) -> dict[Archive, str]:
    """Return the files of a data set, each with its URL or path: those `given`, or else the official addresses."""
    ways = DOWNLOADS[name].ways
    if not given:
        example = f"`fairground data get {name} {' '.join(f'--from {archive.file}' for archive in ways[0])}`"
        has_address = all(archive.address for archive in ways[0])
        require(has_address, f"{name} cannot be fetched: {DOWNLOADS[name].by_hand}. Then type {example}")
        return {archive: archive.address for archive in ways[0]}
    by_name = {PurePosixPath(urlsplit(one).path if "://" in one else Path(one).name).name: one for one in given}
    way = next((way for way in ways if {archive.file for archive in way} == set(by_name)), None)
    if way is None and len(given) == len(ways[0]) == 1:  # a mirror may have another name for it
        return {ways[0][0]: given[0]}
    listed = ", or ".join(" and ".join(archive.file for archive in way) for way in ways)
    require(way is not None, f"--from must name {listed}, once for each file; got {', '.join(by_name)}")
    return {archive: by_name[archive.file] for archive in way or ()}


def fetch_dataset(files: Mapping[Archive, str], target: Path, *, check: Callable[[Path], object], tell: Tell) -> None:
    """Fetch and unpack files into the folder `target`; `check` refuses a folder that is not the data set."""
    work = target.with_name(f"{target.name}.download")
    unpacked = work / "unpacked"
    work.mkdir(parents=True, exist_ok=True)
    with held(work / "lock", f"the download into {work}"):
        try:
            shutil.rmtree(unpacked, ignore_errors=True)
            unpacked.mkdir()
            for archive, source in files.items():
                _place(archive, source, work, unpacked, tell)
            # An archive often has one folder and all else in it.
            inside = [entry for entry in unpacked.iterdir() if entry.name != "__MACOSX"]
            top = inside[0] if len(inside) == 1 and inside[0].is_dir() else unpacked
            check(top)
            top.rename(target)
            for part in work.glob("*.part"):
                part.unlink()
        finally:
            shutil.rmtree(unpacked if any(work.glob("*.part")) else work, ignore_errors=True)


def _place(archive: Archive, source: str, work: Path, into: Path, tell: Tell) -> None:
    file, is_fetched = Path(source).expanduser(), "://" in source
    if is_fetched:
        file = work / f"{archive.file}.part"
        if not archive.n_bytes or _size(file) != archive.n_bytes:
            _fetch(archive, source, file, tell)
    try:
        with open_file(file, error=DataError) as content:
            n_bytes = file.stat().st_size
            is_whole = archive.n_bytes in (0, n_bytes)
            wrong = f"{file.name} is not the published {archive.file}: it has"
            require(is_whole, f"{wrong} {n_bytes:,} bytes, not {archive.n_bytes:,}", DataError)
            kind, wanted = ("SHA-256", archive.sha256) if archive.sha256 else ("MD5", archive.md5)
            found = hashlib.file_digest(content, kind.replace("-", "").lower()).hexdigest() if wanted else ""
            require(found == wanted, f"{wrong} the {kind} {found}, not {wanted}", DataError)
        _unpack(archive, file, into, tell)
    except DataError as error:
        if not is_fetched:
            raise
        file.unlink()
        raise DataError(f"{error}. It came from {source} and was removed: try again, or another --from") from error


def _fetch(archive: Archive, address: str, part: Path, tell: Tell) -> None:
    """Fetch what `part` lacks; a connection that breaks is made again as long as bytes arrive."""
    is_web = address.partition("://")[0] in ("http", "https")
    require(is_web, f"--from takes a file, or a URL that begins with http:// or https://; got '{address}'")
    while True:
        before, of, why = _size(part), archive.n_bytes, "it ended early"
        headers = {"User-Agent": "fairground"} | ({"Range": f"bytes={before}-"} if before else {})
        try:
            with urlopen(Request(address, headers=headers), timeout=_SILENCE) as answer:
                # A server that ignores the range sends everything: 200 instead of 206.
                done = before if answer.status == 206 else 0
                of = done + int(answer.headers["Content-Length"] or 0) or of
                with part.open("ab" if done else "wb") as file:
                    while block := answer.read1(_BLOCK):
                        file.write(block)
                        done += len(block)
                        tell(f"fetching {archive.file} (MB)", done // 10**6, of // 10**6)
            if done >= of:
                return
        except HTTPError as error:
            if error.code == 416:  # there is nothing behind what we have
                return
            reason = f"{address} answers {error.code} {error.reason}"
            raise FairgroundError(f"{reason}: get the file elsewhere and name it by --from FILE_OR_URL") from error
        except (OSError, HTTPException) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            why = str(getattr(error, "reason", error))
        if _size(part) <= before:
            has = f"{_size(part):,} of {of:,} bytes are here" if of else f"{_size(part):,} bytes are here"
            raise FairgroundError(f"cannot fetch {address} ({why}): {has}, and the same command continues from there")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _unpack(archive: Archive, file: Path, into: Path, tell: Tell) -> None:
    """Unpack a tar or zip archive, of which nothing may lie outside `into`; copy a file that is not an archive."""
    doing, of = f"unpacking {archive.file} (MB)", _size(file) // 10**6
    try:
        if archive.file.endswith((".mat", ".txt")):
            shutil.copyfile(file, into / archive.file)
        elif zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as packed:
                for member in packed.infolist():
                    path = PurePosixPath(member.filename.replace("\\", "/"))
                    is_inside = not path.is_absolute() and ".." not in path.parts and ":" not in path.parts[0]
                    require(is_inside, f"{file.name} would put '{member.filename}' outside its folder", DataError)
                    packed.extract(member, into)
                    tell(doing, member.header_offset // 10**6, of)
        else:
            require(tarfile.is_tarfile(file), f"{file.name} is neither a tar nor a zip archive", DataError)
            with file.open("rb") as content, tarfile.open(fileobj=content) as tar:
                for entry in tar:
                    tar.extract(entry, into, filter="data")
                    tell(doing, content.tell() // 10**6, of)
    except (tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, EOFError, ZlibError, RuntimeError) as error:
        raise DataError(f"{file.name} cannot be unpacked: {error}") from error
