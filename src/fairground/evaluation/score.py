"""Score a file of embeddings: `fairground score FILE.npz` calls this."""

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairground.catalogue import nearest
from fairground.errors import DataError, require
from fairground.evaluation.bootstrap import Bootstrap
from fairground.evaluation.groups import GroupRule
from fairground.evaluation.scores import Average, Evaluation, Lone, evaluate_in_detail
from fairground.evaluation.view import Distance, EmbeddingView

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
    """Return the scores of the arrays in an .npz file; `score_file_in_detail` says which arrays."""
    found = score_file_in_detail(
        path, metrics, distance=distance, normalise=normalise, lone=lone, seed=seed, threads=threads
    )
    return dict(found.scores)


def score_file_in_detail(
    path: Path | str,
    metrics: Sequence[str] | None = None,
    *,
    distance: Distance = "euclidean",
    normalise: bool = True,
    lone: Lone = "drop",
    average: Average = "queries",
    group_rule: GroupRule = "same_group",
    bootstrap: Bootstrap | None = None,
    seed: int = 1234,
    threads: int | None = None,
) -> Evaluation:
    """Return the scores of the arrays in an .npz file, and what is behind them.

    The file holds `embeddings` (n, d) and `labels` (n,). `references`, `reference_labels`, `groups` and
    `reference_groups` are taken if they are there. Nothing in the file is ever executed: arrays of Python objects are
    refused.
    """
    arrays = read_arrays(Path(path))
    view = EmbeddingView(
        arrays["embeddings"],
        arrays["labels"],
        arrays.get("references"),
        arrays.get("reference_labels"),
        distance=distance,
        normalise=normalise,
        groups=arrays.get("groups"),
        reference_groups=arrays.get("reference_groups"),
        group_rule=group_rule,
        seed=seed,
        threads=threads,
    )
    return evaluate_in_detail(view, metrics, lone=lone, average=average, bootstrap=bootstrap)


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
