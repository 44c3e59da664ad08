"""An index: the embeddings of a collection beside the model that made them, in a folder that can be handed on.

<folder>/
    index.json         what it is, with the threshold and its error rates in model/model.json
    names.json         file and class of every row
    embeddings.npy     the rows, mapped when searched
    thumbnails.bin     small pictures, with thumbnails.npy to find them; not there for features
    approximate.faiss  a faster, approximate search for large collections, where faiss was there to make it
    model/             the model, as `fairground export` writes it
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fairground.deploy import faiss_index as approximate
from fairground.deploy.embedding_file import embed_to_file
from fairground.deploy.inputs import EmbeddingInputs, read_inputs
from fairground.deploy.model import UsableModel
from fairground.deploy.model_folder import read_model, require_place, write_model
from fairground.deploy.search import Matches, half_lengths, search
from fairground.deploy.thumbnails import Thumbnails, write_thumbnails
from fairground.errors import DataError, require
from fairground.files import read_json
from fairground.records.artefacts import write_atomically
from fairground.records.npy import map_npy

MARK = "index.json"
FORMAT = "fairground index"
_UNFINISHED = "index.partial"
VERSION = 1
Tell = Callable[[str, int, int], None]
How = Literal["auto", "exact", "approximate"]


@dataclass(frozen=True)
class Index:
    """An index folder opened; rows are read from disk as they are searched."""

    folder: Path
    names: tuple[str, ...]
    labels: tuple[int, ...] | None
    class_names: tuple[str, ...]
    embeddings: np.ndarray
    #: the share of the true ten nearest that the approximate search finds; not a number where there is none
    approximate_recall: float = float("nan")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def model(self) -> UsableModel:
        """The model that made the embeddings, and makes those of queries."""
        return read_model(self.folder / "model")

    @cached_property
    def thumbnails(self) -> Thumbnails | None:
        """Small pictures by row, None for features."""
        return Thumbnails(self.folder) if (self.folder / "thumbnails.npy").is_file() else None

    @property
    def has_approximate(self) -> bool:
        """Whether there is an approximate search to choose."""
        return (self.folder / approximate.FILE).is_file()

    def search(self, queries: np.ndarray, k: int = 10, *, how: How = "auto") -> Matches:
        """Return the `k` rows most similar to each query's embedding; exact unless an approximate search was made."""
        is_exact = how == "exact" or (how == "auto" and not self.has_approximate)
        if not is_exact:
            return approximate.search(self.folder, np.ascontiguousarray(queries, np.float32), k)
        return search(queries, self.embeddings, k, halves=self._halves)

    def label(self, row: int) -> str | None:
        """Return the class of a row, where it is known."""
        return None if self.labels is None else self.class_names[self.labels[row]]

    @cached_property
    def _halves(self) -> np.ndarray | None:
        return None if self.model.metadata.normalise else half_lengths(self.embeddings)


def build_index(
    model: UsableModel,
    data: EmbeddingInputs | str | Path,
    folder: Path,
    *,
    how: How = "auto",
    tell: Tell = lambda *_: None,
) -> Index:
    """Embed a collection into an index folder; a killed build is taken up by the same call."""
    inputs = data if isinstance(data, EmbeddingInputs) else read_inputs(data)
    if how == "approximate":
        approximate.faiss()
        require(model.metadata.normalise, "an approximate search compares cosines; this model compares raw embeddings")
    _begin(folder)
    write_model(model, folder / "model")
    same = read_model(folder / "model")
    path = folder / "embeddings.npy"
    for stale in ("thumbnails.npy", "thumbnails.bin", approximate.FILE):
        (folder / stale).unlink(missing_ok=True)
    # Before the embeddings, which cost more and are taken up where they stopped.
    if inputs.images.is_picture:
        write_thumbnails(inputs.images, folder, lambda done, of: tell("small pictures", done, of))
    embed_to_file(same, inputs, path, tell=lambda done, of: tell("embedding", done, of))
    path.with_suffix(".json").unlink(missing_ok=True)
    is_large = how == "auto" and len(inputs) > approximate.LARGE and approximate.is_there() and model.metadata.normalise
    found = approximate.build(folder, path) if how == "approximate" or is_large else None
    labels = None if inputs.labels is None else inputs.labels.tolist()
    names = {"files": list(inputs.names), "labels": labels, "class_names": list(inputs.class_names)}
    names |= {"left_out": list(inputs.left_out)} if inputs.left_out else {}
    write_atomically(folder / "names.json", json.dumps(names, ensure_ascii=False).encode())
    metadata = {"format": FORMAT, "version": VERSION, "n": len(inputs), "approximate_recall_at_10": found}
    write_atomically(folder / MARK, json.dumps(metadata).encode())
    (folder / _UNFINISHED).unlink(missing_ok=True)
    return open_index(folder)


def open_index(folder: Path | str) -> Index:
    """Return an index, refusing in a sentence what is not a whole one."""
    path = Path(folder).expanduser()
    require(path.is_dir(), f"there is no index folder '{path}'; `fairground index` makes one", DataError)
    metadata = _json(path / MARK)
    require(metadata.get("format") == FORMAT, f"{path / MARK} is not that of a fairground index", DataError)
    require(metadata.get("version") == VERSION, f"{path} was written by another version of fairground", DataError)
    try:
        names = _json(path / "names.json")
        files, labels = tuple(str(name) for name in names["files"]), names["labels"]
        rows = map_npy(path / "embeddings.npy")
        classes = tuple(str(name) for name in names["class_names"])
        kept = None if labels is None else tuple(int(label) for label in labels)
        found = metadata.get("approximate_recall_at_10")
        recall = float("nan") if found is None else float(found)
    except DataError:
        raise
    except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"the index in {path} is damaged: {error}") from error
    is_complete = (
        rows.ndim == 2 and len(rows) == len(files) == metadata.get("n") and (kept is None or len(kept) == len(files))
    )
    is_complete = is_complete and (kept is None or all(0 <= label < len(classes) for label in kept))
    require(is_complete, f"the index in {path} is damaged: its files do not agree; make it anew", DataError)
    return Index(path, files, kept, classes, rows, recall)


def _begin(folder: Path) -> None:
    """An unfinished build lies under its own mark, so that it can be told from somebody's other folder."""
    marks = [name for name in (MARK, _UNFINISHED) if (folder / name).is_file()]
    require_place(folder, marks[0] if marks else MARK, "index")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _UNFINISHED).touch()
    (folder / MARK).unlink(missing_ok=True)


def _json(path: Path) -> dict[str, Any]:
    try:
        return read_json(path, error=DataError)
    except DataError as error:
        raise DataError(f"{path} cannot be read: {error}; is this folder an index, and was it finished?") from error
