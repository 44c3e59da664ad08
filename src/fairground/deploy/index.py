"""An index: the embeddings of a collection with the model that made them, in a folder that can be copied elsewhere.

<folder>/
    index.json          its segments and how many rows there are (`manifest.py`)
    segments/000001/    rows added at one time: embeddings, codes, names, classes, small pictures (`segment.py`)
    removed-000001.npy  identifiers of the rows that were removed since; not there where there are none
    approximate.faiss   a faster, approximate search for large collections, where faiss was there to make it
    model/              the model, as `fairground export` writes it
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from fairground.deploy import faiss_index as approximate
from fairground.deploy.inputs import EmbeddingInputs, read_inputs
from fairground.deploy.live_rows import LiveRows, RowPart
from fairground.deploy.manifest import MARK, SEGMENTS, Manifest, read_manifest
from fairground.deploy.model import UsableModel
from fairground.deploy.model_folder import METADATA, WEIGHTS, read_model, require_place, write_model
from fairground.deploy.search import Matches, search
from fairground.deploy.segment import Segment, SegmentTexts, open_segment
from fairground.deploy.segment_build import Tell, embedded_segment, remove_strays
from fairground.errors import DataError, require
from fairground.files import checksum
from fairground.records.arrays import map_npy

How = Literal["auto", "exact", "approximate"]
MODEL = "model"
_UNFINISHED = "index.partial"
_ATTEMPTS = 3


@dataclass(frozen=True)
class Index:
    """An index folder opened; rows are read from disk as they are searched, and numbered without those removed.

    It stays what it was when it was opened: after a change, open it again.
    """

    folder: Path
    manifest: Manifest
    segments: tuple[Segment, ...]
    embeddings: LiveRows

    def __len__(self) -> int:
        return len(self.embeddings)

    @cached_property
    def model(self) -> UsableModel:
        """The model that made the embeddings, and makes those of queries."""
        return read_model(self.folder / MODEL)

    @cached_property
    def ids(self) -> np.ndarray:
        """The identifier (n,) of each row, which it keeps as long as it is in the index."""
        return self._joined([segment.ids for segment in self.segments])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes that have rows, sorted."""
        used = [
            segment.class_names[label]
            for segment, part in zip(self.segments, self.embeddings.parts, strict=True)
            if segment.labels is not None
            for label in np.unique(segment.labels if part.live is None else segment.labels[part.live])
        ]
        return tuple(sorted(set(used)))

    @cached_property
    def labels(self) -> np.ndarray | None:
        """The class (n,) of each row as a number in `class_names`, None where rows have no classes."""
        if any(segment.labels is None for segment in self.segments):
            return None
        numbers = {name: number for number, name in enumerate(self.class_names)}
        found = []
        for segment in self.segments:
            here = np.array([numbers.get(name, -1) for name in segment.class_names], np.int64)
            found.append(here[np.asarray(segment.labels)])
        return self._joined(found)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of every row; `name` reads that of one."""
        every = [segment.names.every() for segment in self.segments]
        lives = [part.live for part in self.embeddings.parts]
        kept = [
            names if live is None else [names[row] for row in live] for names, live in zip(every, lives, strict=True)
        ]
        return tuple(name.decode(errors="replace") for names in kept for name in names)

    def name(self, row: int) -> str:
        """Return the name of a row: the file it comes from."""
        segment, place = self._place(row)
        return segment.names[place].decode(errors="replace")

    def label(self, row: int) -> str | None:
        """Return the class of a row, where it is known."""
        return None if self.labels is None else self.class_names[self.labels[row]]

    def thumbnail(self, row: int) -> bytes | None:
        """Return the small picture of a row, None for features."""
        segment, place = self._place(row)
        return None if segment.thumbnails is None else segment.thumbnails[place] or None

    @property
    def has_approximate(self) -> bool:
        """Whether there is an approximate search to choose."""
        is_made = self.manifest.approximate_recall_at_10 is not None
        return is_made and (self.folder / approximate.FILE).is_file()

    @property
    def approximate_recall(self) -> float:
        """The share of the true ten nearest that the approximate search finds; not a number where there is none."""
        recall = self.manifest.approximate_recall_at_10
        return float("nan") if recall is None else recall

    def search(self, queries: np.ndarray, k: int = 10, *, how: How = "auto") -> Matches:
        """Return the `k` rows most similar to each query's embedding; exact unless an approximate search was made."""
        is_exact = how == "exact" or (how == "auto" and not self.has_approximate)
        if is_exact:
            return search(queries, self.embeddings, k, is_raw=self.manifest.is_raw)
        require(
            self.has_approximate,
            f"{self.folder} has no approximate search of the rows it has now; "
            "make one with `fairground index compact --approximate`",
        )
        return approximate.search(self.folder, np.ascontiguousarray(queries, np.float32), k)

    def _place(self, row: int) -> tuple[Segment, int]:
        require(0 <= row < len(self), f"{self.folder} has no row {row}; it has {len(self):,}", DataError)
        owner = int(self.embeddings.owners(np.array([row]))[0])
        place, live = row - int(self.embeddings.edges[owner]), self.embeddings.parts[owner].live
        return self.segments[owner], place if live is None else int(live[place])

    def _joined(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return columns of the segments as one, without the rows removed."""
        lives = [part.live for part in self.embeddings.parts]
        kept = [column if live is None else column[live] for column, live in zip(columns, lives, strict=True)]
        return np.concatenate(kept) if kept else np.empty(0, np.int64)


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
        require(model.metadata.normalise, approximate.COSINES)
    _begin(folder)
    write_model(model, folder / MODEL)
    manifest = Manifest(
        width=model.metadata.embedding_dim,
        is_raw=not model.metadata.normalise,
        model={name: checksum(folder / MODEL / name) for name in (METADATA, WEIGHTS)},
    )
    remove_strays(folder, manifest)
    (folder / approximate.FILE).unlink(missing_ok=True)
    texts = SegmentTexts(
        names=inputs.names, labels=inputs.labels, class_names=inputs.class_names, left_out=inputs.left_out
    )
    entry = embedded_segment(folder, manifest, read_model(folder / MODEL), inputs, texts, tell)
    manifest = replace(manifest, segments=(entry,), next_id=entry.n, next_segment=2)
    manifest.write(folder)
    (folder / _UNFINISHED).unlink(missing_ok=True)
    is_large = how == "auto" and entry.n > approximate.LARGE and approximate.is_there() and not manifest.is_raw
    if how == "approximate" or is_large:
        recall = approximate.build(folder, open_index(folder).embeddings)
        replace(manifest, approximate_recall_at_10=recall).write(folder)
    return open_index(folder)


def index_folder(folder: Path | str) -> Path:
    """Return the folder of an index, refusing what is no folder."""
    path = Path(folder).expanduser()
    require(path.is_dir(), f"there is no index folder '{path}'; `fairground index` makes one", DataError)
    return path


def open_index(folder: Path | str) -> Index:
    """Return an index, refusing in a sentence what is not a finished one."""
    path = index_folder(folder)
    manifest = read_manifest(path)
    for _ in range(_ATTEMPTS):
        try:
            return _opened(path, manifest)
        except DataError:
            # Segments go when others compact the index: only if it is as it was, something is wrong with it.
            now = read_manifest(path)
            if now == manifest:
                raise
            manifest = now
    return _opened(path, manifest)


def _begin(folder: Path) -> None:
    """An unfinished build lies under its own mark, so that it can be told from somebody's other folder."""
    marks = [name for name in (MARK, _UNFINISHED) if (folder / name).is_file()]
    require_place(folder, marks[0] if marks else MARK, "index")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _UNFINISHED).touch()
    (folder / MARK).unlink(missing_ok=True)


def _opened(path: Path, manifest: Manifest) -> Index:
    removed = _removed(path, manifest)
    segments = tuple(open_segment(path / SEGMENTS / entry.name, entry, manifest.width) for entry in manifest.segments)
    parts = [RowPart(segment.embeddings, segment.codes, _is_live(segment, removed)) for segment in segments]
    rows = LiveRows(parts, manifest.width)
    has_classes = [segment.labels is not None for segment in segments]
    every = np.concatenate([np.empty(0, np.int64), *(segment.ids for segment in segments)])
    is_sound = len(rows) == manifest.n and len(set(has_classes)) <= 1 and bool((np.diff(every) > 0).all())
    is_sound = is_sound and (len(every) == 0 or int(every[-1]) < manifest.next_id)
    require(is_sound, f"the index in {path} is damaged: its files do not agree; make it anew", DataError)
    return Index(path, manifest, segments, rows)


def _removed(path: Path, manifest: Manifest) -> np.ndarray:
    if manifest.removed is None:
        return np.empty(0, np.int64)
    found = map_npy(path / manifest.removed.file)
    is_sound = found.shape == (manifest.removed.n,) and found.dtype == np.int64 and bool((np.diff(found) > 0).all())
    require(is_sound, f"{path / manifest.removed.file} is damaged: it must list identifiers of rows", DataError)
    return found


def _is_live(segment: Segment, removed: np.ndarray) -> np.ndarray | None:
    if len(segment) == 0 or len(removed) == 0:
        return None
    places = np.searchsorted(segment.ids, removed)
    is_here = (places < len(segment)) & (segment.ids[np.minimum(places, len(segment) - 1)] == removed)
    if not is_here.any():
        return None
    is_live = np.ones(len(segment), np.bool_)
    is_live[places[is_here]] = False
    return is_live
