"""The sealed test split, what a run's embeddings score, neighbours as pictures, and stored runs measured again."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from fairground.contracts import Images, ImageTable, Preprocessing
from fairground.errors import DataError, SealError, StoreError, require
from fairground.evaluation import EmbeddingView, Evaluation, concatenate, evaluate_in_detail
from fairground.evaluation.embed import embed, pretrained_embeddings
from fairground.files import read_json
from fairground.records import RunFolder, Store, read_arrays, stored_spec
from fairground.spec import ComponentSpec, run_from_plain
from fairground.training import Checkpoints, InputProfile, device_named
from fairground.training.assemble import Assembled, assemble


class SealedRows:
    """Row numbers of a test split that cannot be read before selection is over.

    A validation score may be looked at any number of times; a test score looked at once has begun to select. Every
    opening is reported to the `witness`.
    """

    def __init__(self, rows: np.ndarray, *, witness: Callable[[str], None] | None = None) -> None:
        self._rows = rows
        self._witness = witness
        self._ended_by: str | None = None

    def end_selection(self, how: str) -> None:
        self._ended_by = how

    def open(self) -> np.ndarray:
        require(
            self._ended_by is not None,
            "the test split is sealed until training and selection are over; measure on validation instead",
            SealError,
        )
        if self._witness is not None:
            self._witness(f"test split opened ({len(self._rows)} images) after {self._ended_by}")
        return self._rows


def measure(parts: Assembled, embeddings: torch.Tensor, rows: np.ndarray) -> Evaluation:
    asked = parts.spec.evaluation
    return evaluate_in_detail(view_of(parts, embeddings, rows), asked.metrics, lone=asked.lone)


def view_of(parts: Assembled, embeddings: torch.Tensor, rows: np.ndarray) -> EmbeddingView:
    """Return the view to evaluate: unit vectors unless the loss compares raw embeddings."""
    asked = parts.spec.evaluation
    if asked.principal_axes:
        embeddings = pretrained_embeddings(embeddings, dim=asked.principal_axes)
    return view_of_rows(parts.table, embeddings, rows, normalise=parts.on_sphere, seeds=asked.clustering_seeds)


def view_of_rows(
    table: ImageTable, embeddings: torch.Tensor, rows: np.ndarray, *, normalise: bool, seeds: int = 1
) -> EmbeddingView:
    """Return the view of embeddings of some rows; queries search the gallery where the data set tells them apart."""
    labels = table.labels[rows]
    groups = None if table.groups is None else table.groups[rows]
    queries, gallery = _queries_and_gallery(table, rows)
    if queries is gallery:
        return EmbeddingView(embeddings, labels, groups=groups, normalise=normalise, clustering_seeds=seeds)
    return EmbeddingView(
        embeddings[torch.from_numpy(queries)],
        labels[queries],
        embeddings[torch.from_numpy(gallery)],
        labels[gallery],
        groups=None if groups is None else groups[queries],
        reference_groups=None if groups is None else groups[gallery],
        normalise=normalise,
        clustering_seeds=seeds,
    )


def _queries_and_gallery(table: ImageTable, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the queries and what they search, as places in `rows`; one array of all rows where all search all."""
    if table.is_query is None or table.is_gallery is None or not table.is_query[rows].any():
        everything = np.arange(len(rows))
        return everything, everything
    return np.flatnonzero(table.is_query[rows]), np.flatnonzero(table.is_gallery[rows])


#: queries shown, neighbours of each, and the side of a picture in pixels
N_QUERIES, N_NEIGHBOURS, SIDE = 12, 8, 96


def gallery_of(
    table: ImageTable, rows: np.ndarray, embeddings: np.ndarray, *, n: int = N_QUERIES, k: int = N_NEIGHBOURS
) -> dict[str, np.ndarray] | None:
    """Return the best, the worst and some queries between; None where there are no pictures, as for features.

    The arrays are `images` (q, 1+k, h, w, c), `labels` and `rows` (q, 1+k), `right` (q, k), `average_precision` (q,)
    and `class_names` (c,) of all classes. Images of the query's group are skipped, as in scores.
    """
    if len(rows) < 2 or not table.images.is_picture:
        return None
    labels = table.labels[rows]
    sample, nearest = _nearest(table, rows, embeddings, k)
    k = nearest.shape[1]
    if k == 0:
        return None
    right = labels[nearest] == labels[sample][:, None]
    precision = np.cumsum(right, axis=1) / np.arange(1, k + 1)
    quality = (precision * right).sum(axis=1) / k
    order = np.argsort(quality, kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, min(n, len(order))).astype(np.int64)]
    shown = np.concatenate([sample[chosen][:, None], nearest[chosen]], axis=1)
    images = _pictures(table.images, rows[shown].reshape(-1))
    names = np.array(table.class_names)
    return {
        "images": images.reshape(*shown.shape, *images.shape[1:]),
        "labels": names[labels[shown]],
        "right": right[chosen],
        "average_precision": quality[chosen],
        "rows": rows[shown],
        "class_names": names,
    }


def _nearest(table: ImageTable, rows: np.ndarray, embeddings: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some queries (q,) and up to k nearest references (q, k) of each, all as places in `rows`."""
    queries, references = _queries_and_gallery(table, rows)
    unit = embeddings / np.maximum(np.linalg.norm(embeddings, axis=1, keepdims=True), 1e-12)
    # A few hundred queries spread over the rows are enough to choose from, and take a fraction of a second.
    sample = queries[np.linspace(0, len(queries) - 1, min(len(queries), 400)).astype(np.int64)]
    is_allowed = sample[:, None] != references
    if table.groups is not None:
        groups = table.groups[rows]
        is_allowed &= groups[sample][:, None] != groups[references]
    has_any = is_allowed.any(axis=1)
    sample, is_allowed = sample[has_any], is_allowed[has_any]
    similarity = np.where(is_allowed, unit[sample] @ unit[references].T, -np.inf)
    k = min(k, int(is_allowed.sum(axis=1).min(initial=k)))
    return sample, references[np.argsort(-similarity, axis=1, kind="stable")[:, : k if len(sample) else 0]]


def _pictures(images: Images, rows: np.ndarray) -> np.ndarray:
    """Return the images (k, h, w, c) of `rows`: small ones whole, photographs as squares cut from their middle."""
    sizes = images.sizes(rows)
    if (sizes == sizes[0]).all() and sizes.max() <= SIDE:
        return images.take(rows).permute(0, 2, 3, 1).numpy()
    # The largest square of whatever size there is: images may have been prepared smaller than a picture here.
    longest = sizes.min(axis=1, keepdims=True)
    corner = ((sizes - longest) // 2)[:, ::-1]
    boxes = np.concatenate([corner, corner + longest], axis=1)
    return images.crops(rows, boxes, SIDE).permute(0, 2, 3, 1).numpy()


def reopen(home: Path, name: str, *, device: str = "auto") -> Assembled:
    """Return a stored run with its selected weights in place, ready to embed."""
    folder = RunFolder(home, name)
    parts = assemble(stored_spec(folder), device=device_named(device))
    parts.model.load_state_dict(selected_weights(folder))
    return parts


def selected_weights(folder: RunFolder) -> dict[str, torch.Tensor]:
    """Return the weights a run selected; the last ones where nothing was selected."""
    checkpoints = Checkpoints(folder.checkpoints, folder.name)
    snapshot = checkpoints.load()
    require(snapshot is not None, f"run {folder.name} has no checkpoint yet", StoreError)
    assert snapshot is not None
    if best := snapshot.values["best"]:
        return checkpoints.load_best(best)
    return {key.removeprefix("model/"): value for key, value in snapshot.tensors.items() if key.startswith("model/")}


def evaluate_stored(
    home: Path,
    name: str,
    *,
    split: Literal["validation", "test"],
    metrics: Sequence[str] | None = None,
    device: str = "auto",
) -> dict[str, float]:
    store = Store(home)
    done = store.names(state="done")
    parts = reopen(home, name, device=device)
    asked = parts.spec.evaluation
    if split == "test":
        sealed = SealedRows(parts.split.test, witness=lambda what: store.note_event("test opened", name, what))
        if name in done:
            sealed.end_selection("the run was done")
        rows = sealed.open()
    else:
        rows = parts.split.validation
    embeddings = embed(parts.model, parts.table.images, rows, parts.transform, device=parts.device)
    view = view_of(parts, embeddings, rows)
    return dict(evaluate_in_detail(view, list(metrics or asked.metrics), lone=asked.lone).scores)


def ensemble_job(job: Mapping[str, Any], tell: object = None) -> dict[str, Any]:
    """Return the concatenated scores of `runs` under `home`, by the rules of `spec`; it reports nothing."""
    del tell
    names = [str(name) for name in job["runs"]]
    found = []
    for name in names:
        folder = RunFolder(Path(job["home"]), name)
        require(
            folder.embeddings.is_file(),
            f"run {name} left no embeddings under {folder.root}; several machines need a --home they share",
            DataError,
        )
        arrays = read_arrays(folder.embeddings, ["embeddings", "rows"])
        found.append((arrays["embeddings"], arrays["rows"]))
    rows = found[0][1]
    require(
        all(np.array_equal(rows, other) for _, other in found),
        f"the runs {', '.join(names)} tested on different images, so that they cannot be joined",
        DataError,
    )
    parts = assemble(run_from_plain(job["spec"]), device=torch.device("cpu"))
    joined = concatenate([torch.from_numpy(of_one) for of_one, _ in found], normalise=parts.on_sphere)
    scores = measure(parts, torch.as_tensor(joined), rows).scores
    return {"scores": dict(scores), "embedding_dim": int(joined.shape[1])}


def missing_place(data: ComponentSpec) -> str:
    """Return the path that a data set is read from where it is gone; empty otherwise."""
    place = data.settings.get("root") or data.settings.get("path")
    return place if isinstance(place, str) and place and not Path(place).expanduser().exists() else ""


def read_profile(folder: RunFolder, place: str) -> InputProfile:
    """Return the profile of a run whose data is no longer at `place`."""
    path = folder.inputs
    require(
        path.is_file(),
        f"the data of run {folder.name} is no longer at '{place}', and the run did not note what its network takes; "
        "put the data back",
        StoreError,
    )
    data = read_json(path, error=StoreError)
    shape = data["preprocessing"]
    preprocessing = Preprocessing(**{**shape, "mean": tuple(shape["mean"]), "deviation": tuple(shape["deviation"])})
    size = None if data["size"] is None else (int(data["size"][0]), int(data["size"][1]))
    return InputProfile(**{**data, "size": size, "classes": tuple(data["classes"]), "preprocessing": preprocessing})
