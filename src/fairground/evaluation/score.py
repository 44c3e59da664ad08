"""Score a file of embeddings: `fairground score FILE.npz` calls this."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fairground.errors import DataError, require
from fairground.evaluation.bootstrap import Bootstrap
from fairground.evaluation.excluded_pairs import GroupRule
from fairground.evaluation.scores import Average, Evaluation, Lone, evaluate_in_detail
from fairground.evaluation.view import Distance, EmbeddingView
from fairground.files import reading
from fairground.records.arrays import array_names
from fairground.records.arrays import read_arrays as read_named
from fairground.spec.catalogue import nearest

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
    with reading(path, error=DataError) as file:
        require(file.read(2) == b"PK", f"{path} is not an .npz file (np.savez makes one)", DataError)
    present = array_names(path)
    for name in REQUIRED:
        listed = ", ".join(present) or "nothing"
        require(name in present, f"{path} has no array '{name}'; it has {listed}.{nearest(name, present)}", DataError)
    return read_named(path, [*REQUIRED, *(name for name in OPTIONAL if name in present)])
