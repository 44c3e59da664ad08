"""Arrays on disk as `.npz`, never pickled: a file from a stranger can hold numbers and text, but no code."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from fairground.errors import DataError, require
from fairground.files import reading
from fairground.records.artefacts import write_atomically
from fairground.records.npy import map_numbers, read_header
from fairground.spec.catalogue import nearest

_BARE = b"\x93NUMPY"
_LOCAL_HEADER = struct.Struct("<4s22xHH")
#: an array above this many bytes must not be this many times longer than it is packed: a small file can claim any size
_LARGE, _MOST_UNPACKED = 256 << 20, 100
#: whatever reading an archive can stumble upon: encrypted, of an unknown compression, torn, too long
_FAULTS = (
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    OverflowError,
    MemoryError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
)


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays atomically, most of them compressed; the same arrays give the same bytes."""
    for name, array in arrays.items():
        require(
            not array.dtype.hasobject, f"'{name}' holds Python objects; only numbers and text are written", DataError
        )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
            # A ZipInfo of its own carries a fixed date instead of now.
            # Rows of floats, such as embeddings, shrink by a few per cent in most of the time that writing takes.
            is_dense = array.dtype.kind == "f" and array.ndim == 2
            kind = zipfile.ZIP_STORED if is_dense else zipfile.ZIP_DEFLATED
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), compress_type=kind)
    write_atomically(path, archive.getvalue())


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the arrays called `names`, refusing a file that lacks one or would need pickle."""
    wanted = list(names)
    with _archive(path) as archive:
        held = _held(archive)
        for name in wanted:
            found = ", ".join(held) or "nothing"
            require(name in held, f"{path} has no array '{name}'.{nearest(name, held)} It holds: {found}.", DataError)
        return {name: _read(path, archive, name) for name in wanted}


def array_names(path: Path) -> list[str]:
    """Return the names of the arrays in an .npz file, without reading any of them."""
    with _archive(path) as archive:
        return _held(archive)


def map_array(path: Path, name: str) -> np.ndarray | None:
    """Return an array of an .npz file left on disk, or nothing where it is compressed and must be read whole."""
    with _archive(path) as archive:
        require(name in _held(archive), f"{path} has no array '{name}'", DataError)
        entry = archive.getinfo(f"{name}.npy")
    if entry.compress_type != zipfile.ZIP_STORED:
        return None
    with reading(path, error=DataError) as file:
        file.seek(entry.header_offset)
        local = file.read(_LOCAL_HEADER.size)
        require(len(local) == _LOCAL_HEADER.size, f"{path} is not a readable .npz file: it is truncated", DataError)
        _, n_name, n_extra = _LOCAL_HEADER.unpack(local)
        begin = file.seek(n_name + n_extra, 1)
        header = read_header(file, f"'{name}' in {path}")
        fits = header.length + header.n_bytes == entry.file_size
        require(fits, f"'{name}' in {path} is not as long as its header says", DataError)
        return map_numbers(path, file, header, begin + header.length)


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Hold an .npz file open; whatever the reader of archives stumbles upon meanwhile becomes one sentence."""
    with reading(path, error=DataError) as file:
        require(file.read(len(_BARE)) != _BARE, f"{path} holds one bare array (.npy); expected an .npz file", DataError)
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive
        except DataError:
            raise
        except _FAULTS as error:
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise DataError(f"{path} is not a readable .npz file: {reason}") from error


def _held(archive: zipfile.ZipFile) -> list[str]:
    return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def _read(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    """Return one array; memory grows with the bytes that are there, not with what a header claims."""
    entry = archive.getinfo(f"{name}.npy")
    packed = max(1, entry.compress_size)
    require(
        entry.file_size <= _LARGE or entry.file_size <= _MOST_UNPACKED * packed,
        f"'{name}' in {path} claims to unpack {packed:,} bytes into {entry.file_size:,}: too much to be believed",
        DataError,
    )
    with archive.open(entry) as member:
        header = read_header(cast(BinaryIO, member), f"'{name}' in {path}")
        data = member.read(header.n_bytes)
        is_whole = len(data) == header.n_bytes and not member.read(1)
    require(is_whole, f"'{name}' in {path} is not as long as its header says", DataError)
    if header.n_bytes == 0:
        return np.empty(header.shape, header.dtype)
    # In memory of its own: what `frombuffer` gives cannot be written to.
    return np.frombuffer(bytearray(data), header.dtype).reshape(header.shape, order=header.order)
