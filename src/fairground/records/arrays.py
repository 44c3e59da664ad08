"""Arrays on disk as `.npz` and `.npy`, never pickled: opening a file cannot run code."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np

from fairground.spec import DataError, nearest, reading, require, write_atomically

_LOCAL_HEADER = struct.Struct("<4s22xHH")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays atomically, most of them compressed; the same arrays give the same bytes."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, array in arrays.items():
            is_plain = not array.dtype.hasobject
            require(is_plain, f"'{name}' holds Python objects; only numbers and text can be written", DataError)
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asanyarray(array), allow_pickle=False)
            # Matrices of floats, such as embeddings, hardly shrink, and compressing them takes most of the time.
            is_dense = array.dtype.kind == "f" and array.ndim == 2
            kind = zipfile.ZIP_STORED if is_dense else zipfile.ZIP_DEFLATED
            # A ZipInfo of its own has a fixed date.
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), compress_type=kind)
    write_atomically(path, archive.getvalue())


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the arrays called `names`; refuse a file that lacks one or would need pickle."""
    with _opened(path) as archive:
        for name in (names := list(names)):
            held = ", ".join(archive) or "nothing"
            has = name in archive
            require(has, f"{path} has no array '{name}'.{nearest(name, list(archive))} It holds: {held}.", DataError)
        return {name: archive[name] for name in names}


def array_names(path: Path) -> list[str]:
    with _opened(path) as archive:
        return list(archive)


def map_array(path: Path, name: str) -> np.ndarray | None:
    """Return an array of an .npz file left on disk, or None if it is compressed and must be read whole."""
    with _opened(path) as archive:
        require(name in archive, f"{path} has no array '{name}'", DataError)
        assert archive.zip is not None
        entry = archive.zip.getinfo(f"{name}.npy")
    if entry.compress_type != zipfile.ZIP_STORED:
        return None
    with reading(path, error=DataError) as file, _one_sentence(path):
        file.seek(entry.header_offset)
        _, n_name, n_extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
        file.seek(n_name + n_extra, 1)
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
        require(not dtype.hasobject, f"'{name}' in {path} holds Python objects; save it as numbers or text", DataError)
        order: Literal["F", "C"] = "F" if is_fortran else "C"
        return np.memmap(file, dtype, "r", offset=file.tell(), shape=shape, order=order)


def map_npy(path: Path) -> np.ndarray:
    with reading(path, error=DataError) as file:
        is_archive = file.read(2) == b"PK"
    require(not is_archive, f"{path} is an archive of arrays (.npz); expected one bare array (.npy)", DataError)
    with _one_sentence(path):
        found: np.ndarray = np.lib.format.open_memmap(path, "r")
        return found


@contextmanager
def _opened(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    with reading(path, error=DataError) as file, _one_sentence(path):
        found = np.load(file, allow_pickle=False)
        is_archive = isinstance(found, np.lib.npyio.NpzFile)
        require(is_archive, f"{path} holds one bare array (.npy); expected an .npz file", DataError)
        with found:
            yield found


@contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except (ValueError, KeyError, EOFError, struct.error, zlib.error, zipfile.BadZipFile, MemoryError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        if "allow_pickle" in reason or "Python objects" in reason:
            is_archive = "pickled" not in reason  # NumPy takes whatever it does not know for a pickle
            reason = "it holds Python objects; save numbers or text" if is_archive else "it is not a file of NumPy"
        raise DataError(f"{path} cannot be read as arrays: {reason}") from error
