"""Score a file of embeddings: `fairground score FILE.npz` calls this."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairground.catalogue import nearest
from fairground.errors import DataError, require
from fairground.evaluation.scores import Lone, evaluate
from fairground.evaluation.view import Distance

REQUIRED = ("embeddings", "labels")
OPTIONAL = ("references", "reference_labels", "groups", "reference_groups")


def score_file(
    path: Path | str,
    metrics: Sequence[str] | None = None,
    *,
    distance: Distance = "euclidean",
    normalise: bool = True,
    lone: Lone = "drop",
    seed: int = 1234,
    threads: int | None = None,
) -> dict[str, float]:
    """Return the scores of the arrays in an .npz file: `embeddings` (n, d) and `labels` (n,).

    `references`, `reference_labels`, `groups` and `reference_groups` are taken if they are there. Nothing in the file
    is ever executed: arrays of Python objects are refused.
    """
    arrays = read_arrays(Path(path))
    return evaluate(
        arrays["embeddings"],
        arrays["labels"],
        metrics,
        arrays.get("references"),
        arrays.get("reference_labels"),
        distance=distance,
        normalise=normalise,
        lone=lone,
        groups=arrays.get("groups"),
        reference_groups=arrays.get("reference_groups"),
        seed=seed,
        threads=threads,
    )


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file that scoring knows; refuse what cannot be scored, in a sentence."""
    require(path.exists(), f"there is no file {path}", DataError)
    require(zipfile.is_zipfile(path), f"{path} is not an .npz file (np.savez makes one)", DataError)
    arrays = {}
    try:
        with np.load(path, allow_pickle=False) as file:
            present = list(file.files)
            for name in REQUIRED:
                hint = nearest(name, present)
                listed = ", ".join(present) or "nothing"
                require(name in present, f"{path} has no array '{name}'; it has {listed}.{hint}", DataError)
            for name in (*REQUIRED, *OPTIONAL):
                if name in present:
                    arrays[name] = _read(file, name, path)
    except (OSError, zipfile.BadZipFile, EOFError) as error:
        raise DataError(f"{path} cannot be read: {error}") from error
    return arrays


def _read(file: np.lib.npyio.NpzFile, name: str, path: Path) -> np.ndarray:
    try:
        array: np.ndarray = file[name]
    except ValueError as error:
        raise DataError(
            f"'{name}' in {path} holds Python objects, which could run code when read; "
            "save it as an array of numbers (for labels also of words)"
        ) from error
    return array
