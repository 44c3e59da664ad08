"""Arrays on disk as `.npz`, never pickled: a file from a stranger can hold numbers and text, but no code."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from fairground.catalogue import nearest
from fairground.errors import DataError, require
from fairground.records.artefacts import write_atomically


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write named arrays atomically and compressed; the same arrays give the same bytes, so that checksums tell."""
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
            file.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), compress_type=zipfile.ZIP_DEFLATED)
    write_atomically(path, archive.getvalue())


def read_arrays(path: Path, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return the arrays called `names`, refusing a file that lacks one or would need pickle."""
    try:
        loaded = np.load(path, allow_pickle=False)
        require(not isinstance(loaded, np.ndarray), f"{path} holds one bare array; expected an .npz file", DataError)
        with loaded as file:
            for name in names:
                found = ", ".join(file.files) or "nothing"
                hint = nearest(name, file.files)
                require(name in file.files, f"{path} has no array '{name}'.{hint} It holds: {found}.", DataError)
            return {name: _one(path, file, name) for name in names}
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"{path} is not a readable .npz file: {error}") from error


def _one(path: Path, file: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    try:
        return file[name]
    except ValueError as error:
        if "allow_pickle" not in str(error) and "Object arrays" not in str(error):
            raise
        raise DataError(
            f"'{name}' in {path} holds Python objects, which are refused because reading them could run code; "
            "save it as numbers or text"
        ) from error
