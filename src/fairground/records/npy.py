"""One array in NumPy's own format: its header read with suspicion, its numbers left on disk.

A header is a claim. It is believed only where the bytes it speaks of are there, so that no claim costs memory.
"""

import math
import os
import struct
import tokenize
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import numpy as np

from fairground.errors import DataError, require
from fairground.files import reading

#: whatever NumPy stumbles upon in a header that it did not write
_FAULTS = (
    ValueError,
    TypeError,
    KeyError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
    OverflowError,
    EOFError,
    struct.error,
)


class Header(NamedTuple):
    """What an array's header says of it; `length` is that of the header itself."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype
    length: int

    @property
    def n_bytes(self) -> int:
        """How many bytes of numbers must follow."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def order(self) -> Literal["F", "C"]:
        """NumPy's word for the order of axes."""
        return "F" if self.is_fortran else "C"


def read_header(file: BinaryIO, origin: str) -> Header:
    """Return the header at the file's place, refusing what is none and what only pickle could read."""
    begin = file.tell()
    try:
        version = np.lib.format.read_magic(file)
        one = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if one else np.lib.format.read_array_header_2_0
        shape, is_fortran, dtype = read(file)
    except _FAULTS as error:
        raise DataError(f"{origin} is not readable as an array: {_reason(error)}") from error
    require(
        not dtype.hasobject,
        f"{origin} holds Python objects, which are refused because reading them could run code; "
        "save it as numbers or text",
        DataError,
    )
    is_possible = all(type(side) is int and side >= 0 for side in shape) and len(shape) <= 32
    require(is_possible, f"{origin} is not readable as an array: it claims the shape {shape}", DataError)
    return Header(shape, is_fortran, dtype, file.tell() - begin)


def map_numbers(path: Path, file: BinaryIO, header: Header, begin: int) -> np.ndarray:
    """Return an array of an open file, left on disk; its numbers begin at byte `begin`."""
    there = os.fstat(file.fileno()).st_size - begin
    require(
        header.n_bytes <= there,
        f"{path} is truncated: an array of shape {header.shape} needs {header.n_bytes:,} bytes, {max(0, there):,} are "
        "there",
        DataError,
    )
    if header.n_bytes == 0:  # nothing can be mapped of nothing
        return np.empty(header.shape, header.dtype)
    mapped: np.ndarray = np.memmap(file, header.dtype, "r", offset=begin, shape=header.shape, order=header.order)
    return mapped


def map_npy(path: Path) -> np.ndarray:
    """Return the array of an .npy file, left on disk; refuse in a sentence what is not one."""
    with reading(path, error=DataError) as file:
        require(
            file.read(2) != b"PK", f"{path} is an archive of arrays (.npz); expected one bare array (.npy)", DataError
        )
        file.seek(0)
        header = read_header(file, f"{path}")
        return map_numbers(path, file, header, header.length)


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
