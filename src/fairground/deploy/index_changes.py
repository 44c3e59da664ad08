"""Rows added to an index and removed from it without making it anew.

One process at a time changes an index; those who search it go on with what they opened. Every change ends with the
manifest, replaced in one step: killed at any moment, the index is as it was, and the same call does the rest.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from fairground.deploy import faiss_index as approximate
from fairground.deploy.byte_rows import save_array
from fairground.deploy.index import Index, open_index
from fairground.deploy.inputs import EmbeddingInputs, read_inputs
from fairground.deploy.live_rows import BLOCK
from fairground.deploy.manifest import Manifest, SegmentEntry, Tombstones, read_manifest
from fairground.deploy.segment import SegmentTexts
from fairground.deploy.segment_build import copied_segment, embedded_segment, remove_strays
from fairground.errors import DataError, StoreError, require
from fairground.files import cannot_write, checksum, sweep
from fairground.records.lock import held
from fairground.spec.catalogue import nearest

_LOCK = "index.lock"
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class IndexChange:
    """What a change did: rows `added` and `removed`, and the `n` rows in `n_segments` segments there are now.

    `has_dropped_classes` where rows came with classes and the index has none; `has_dropped_approximate` where the
    approximate search was that of the rows before.
    """

    added: int
    removed: int
    n: int
    n_segments: int
    has_dropped_classes: bool = False
    has_dropped_approximate: bool = False


def create_index(folder: Path | str, *, width: int, is_raw: bool = False) -> Index:
    """Make an empty index for ready-made embeddings of `width`; it has no model, so it is searched by embeddings."""
    path = Path(folder).expanduser()
    require(width >= 1, f"width must be at least 1; got {width}")
    is_free = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    require(is_free, f"'{path}' is there already; name a new folder")
    Manifest(width=width, is_raw=is_raw).write(path)
    return open_index(path)


def add_to_index(
    folder: Path | str, data: EmbeddingInputs | str | Path, *, replace_names: bool = False, tell: Tell = lambda *_: None
) -> IndexChange:
    """Embed what `data` names and add its rows to an index; a killed call is taken up by the same call.

    `replace_names` removes the rows of the same names in the same step.
    """
    inputs = data if isinstance(data, EmbeddingInputs) else read_inputs(data)
    with changing(folder) as index:
        texts = SegmentTexts(
            names=inputs.names, labels=inputs.labels, class_names=inputs.class_names, left_out=inputs.left_out
        )
        texts = _same_kind(index, texts)
        entry = embedded_segment(index.folder, index.manifest, index.model, inputs, texts, tell)
        change = _append(index, entry, inputs.names if replace_names else ())
        return replace(change, has_dropped_classes=inputs.labels is not None and texts.labels is None)


def add_embeddings(
    folder: Path | str,
    embeddings: np.ndarray,
    *,
    names: Sequence[str],
    classes: Sequence[str] | None = None,
    replace_names: bool = False,
) -> IndexChange:
    """Add ready-made embeddings (n, d) to an index, with the name and, where the index has some, the class of each."""
    with changing(folder) as index:
        width = index.manifest.width
        is_fitting = embeddings.ndim == 2 and embeddings.shape[1] == width and len(embeddings) > 0
        require(is_fitting, f"embeddings must be (n, {width}) with a row at least; got {embeddings.shape}", DataError)
        counts = {len(embeddings), len(names), len(names if classes is None else classes)}
        require(len(counts) == 1, "every embedding needs one name and, where classes are given, one class", DataError)
        texts = SegmentTexts(names=names)
        if classes is not None:
            known, labels = np.unique(np.array([str(name) for name in classes]), return_inverse=True)
            texts = replace(texts, labels=labels, class_names=known.tolist())
        texts = _same_kind(index, texts)
        ids = index.manifest.next_id + np.arange(len(embeddings))
        blocks = (embeddings[begin : begin + BLOCK] for begin in range(0, len(embeddings), BLOCK))
        entry = copied_segment(index.folder, index.manifest, blocks, ids, texts)
        change = _append(index, entry, names if replace_names else ())
        return replace(change, has_dropped_classes=classes is not None and texts.labels is None)


def remove_from_index(folder: Path | str, *, ids: Iterable[int] = (), names: Iterable[str] = ()) -> IndexChange:
    """Remove rows by identifier, by name, or by a pattern of names such as `cats/*`; each must be that of some row."""
    with changing(folder) as index:
        wanted = np.unique(np.array([*ids], np.int64))
        strange = wanted[~np.isin(wanted, index.ids)]
        require(len(strange) == 0, f"no row of this index has the identifier {_listed(strange)}", DataError)
        by_name = _rows_named(index, [*names])
        gone = np.union1d(wanted, index.ids[by_name])
        require(len(gone) > 0, "say which rows to remove, by identifier or by name")
        commit(index, replace(index.manifest, removed=_tombstones(index, gone)))
        return outcome(index, removed=len(gone))


@contextmanager
def changing(folder: Path | str) -> Iterator[Index]:
    """Hold an index for a change, without what killed ones left."""
    path = open_index(folder).folder
    try:
        with held(path / _LOCK, f"the index {path}"):
            index = open_index(path)
            remove_strays(path, index.manifest)
            sweep(path)
            yield index
    except OSError as error:
        raise StoreError(cannot_write(Path(error.filename or path), error)) from error


def _same_kind(index: Index, texts: SegmentTexts) -> SegmentTexts:
    """Return what is known of new rows, with classes where the index has some."""
    if not index.segments:
        return texts
    has_classes = index.segments[0].labels is not None
    require(
        not has_classes or texts.labels is not None,
        "the rows of this index have classes; give those of the new rows: class folders, or a table with labels",
        DataError,
    )
    return texts if has_classes else replace(texts, labels=None, class_names=())


def _append(index: Index, entry: SegmentEntry, replaced: Sequence[str]) -> IndexChange:
    manifest = index.manifest
    gone = np.empty(0, np.int64)
    if replaced:
        names = set(replaced)
        gone = index.ids[[row for row, name in enumerate(index.names) if name in names]]
    manifest = replace(
        manifest,
        segments=(*manifest.segments, entry),
        next_id=manifest.next_id + entry.n,
        next_segment=manifest.next_segment + 1,
        removed=_tombstones(index, gone) if len(gone) else manifest.removed,
    )
    commit(index, manifest)
    return outcome(index, added=entry.n, removed=len(gone))


def commit(index: Index, manifest: Manifest) -> None:
    """Replace the manifest, without the approximate search of the rows before; then remove what it does not name."""
    replace(manifest, approximate_recall_at_10=None).write(index.folder)
    (index.folder / approximate.FILE).unlink(missing_ok=True)
    remove_strays(index.folder, manifest)


def outcome(index: Index, *, added: int = 0, removed: int = 0) -> IndexChange:
    """Return what a change of the index that was opened has done."""
    manifest = read_manifest(index.folder)
    had_approximate = index.manifest.approximate_recall_at_10 is not None
    return IndexChange(
        added=added,
        removed=removed,
        n=manifest.n,
        n_segments=len(manifest.segments),
        has_dropped_approximate=had_approximate and manifest.approximate_recall_at_10 is None,
    )


def _rows_named(index: Index, names: Sequence[str]) -> np.ndarray:
    """Return the numbers of the rows that have one of these names, or match one as a pattern."""
    if not names:
        return np.empty(0, np.int64)
    places: dict[str, list[int]] = {}
    for row, name in enumerate(index.names):
        places.setdefault(name, []).append(row)
    found: list[int] = []
    for wanted in names:
        here = places.get(wanted) or [row for name, rows in places.items() if fnmatchcase(name, wanted) for row in rows]
        require(bool(here), f"no row of this index has the name '{wanted}'.{nearest(wanted, list(places))}", DataError)
        found += here
    return np.unique(np.array(found, np.int64))


def _tombstones(index: Index, gone: np.ndarray) -> Tombstones:
    """Write the identifiers of all rows removed so far, in a file that no manifest names yet."""
    pairs = zip(index.segments, index.embeddings.parts, strict=True)
    before = [segment.ids[~part.is_live] for segment, part in pairs if part.is_live is not None]
    every = np.unique(np.concatenate([gone.astype(np.int64), *before]))
    name = f"removed-{hashlib.sha256(every.tobytes()).hexdigest()[:16]}.npy"
    save_array(index.folder / name, every)
    return Tombstones(file=name, n=len(every), sha256=checksum(index.folder / name))


def _listed(ids: np.ndarray) -> str:
    return ", ".join(str(one) for one in ids[:5]) + (f" and {len(ids) - 5} more" if len(ids) > 5 else "")
