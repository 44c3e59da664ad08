"""The segments of an index joined into one, and every file of it held against its SHA-256."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairground.deploy import faiss_index as approximate
from fairground.deploy.index import MODEL, Index, index_folder, open_index
from fairground.deploy.index_changes import IndexChange, changing, commit, outcome
from fairground.deploy.manifest import SEGMENTS, Manifest, SegmentEntry, read_manifest
from fairground.deploy.model_folder import read_model
from fairground.deploy.segment import SegmentTexts, damaged_files
from fairground.deploy.segment_build import copied_segment
from fairground.errors import DataError, FairgroundError, require

Tell = Callable[[str, int, int], None]


def compact_index(folder: Path | str, *, with_approximate: bool = False, tell: Tell = lambda *_: None) -> IndexChange:
    """Join the segments of an index into one without the rows removed, which frees their space; answers stay the same.

    `with_approximate` also makes an approximate search of the rows there are now.
    """
    if with_approximate:
        approximate.faiss()
    with changing(folder) as index:
        manifest = index.manifest
        require(not (with_approximate and manifest.is_raw), approximate.COSINES)
        if len(manifest.segments) > 1 or manifest.removed is not None:
            damage = _damage(index.folder, manifest, tell)
            require(not damage, f"{damage[0] if damage else ''} is damaged: it is not as it was written", DataError)
            manifest = replace(
                manifest,
                segments=(_joined(index, tell),) if len(index) else (),
                removed=None,
                next_segment=manifest.next_segment + 1,
            )
            commit(index, manifest)
        if with_approximate and len(index):
            recall = approximate.build(index.folder, open_index(index.folder).embeddings)
            replace(manifest, approximate_recall_at_10=recall).write(index.folder)
        return outcome(index)


def check_index(folder: Path | str, *, tell: Tell = lambda *_: None) -> list[str]:
    """Return the files of an index that are missing or not as they were written, by their SHA-256."""
    path = index_folder(folder)
    manifest = read_manifest(path)
    found = _damage(path, manifest, tell) + _model_damage(path / MODEL, manifest)
    if not found:
        open_index(path)  # files as they were written may still not be those of one index
    return found


def _model_damage(folder: Path, manifest: Manifest) -> list[str]:
    """Return the damaged files of the model; an index of ready-made embeddings has none."""
    if manifest.model or not folder.exists():
        return damaged_files(folder, manifest.model)
    try:  # indexes made before the manifest named the files of the model
        read_model(folder)
    except FairgroundError:
        return [str(folder)]
    return []


def _damage(folder: Path, manifest: Manifest, tell: Tell) -> list[str]:
    found = []
    for number, entry in enumerate(manifest.segments):
        tell("checking", number, len(manifest.segments))
        found += damaged_files(folder / SEGMENTS / entry.name, entry.files)
    removed = manifest.removed
    return found + ([] if removed is None else damaged_files(folder, {removed.file: removed.sha256}))


def _joined(index: Index, tell: Tell) -> SegmentEntry:
    texts = SegmentTexts(
        names=index.names,
        labels=index.labels,
        class_names=index.class_names,
        left_out=[name for segment in index.segments for name in segment.left_out],
    )
    has_pictures = any(segment.thumbnails is not None for segment in index.segments)
    return copied_segment(
        index.folder, index.manifest, _blocks(index, tell), index.ids, texts, _pictures(index) if has_pictures else None
    )


def _blocks(index: Index, tell: Tell) -> Iterator[np.ndarray]:
    for begin, rows, _ in index.embeddings.blocks():
        tell("joining", begin, len(index))
        yield rows


def _pictures(index: Index) -> Iterator[bytes]:
    for segment, part in zip(index.segments, index.embeddings.parts, strict=True):
        live = range(len(segment)) if part.live is None else part.live.tolist()
        yield from (b"" if segment.thumbnails is None else segment.thumbnails[row] for row in live)
