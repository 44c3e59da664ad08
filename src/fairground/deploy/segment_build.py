"""A new segment of an index, from pictures or features that its model embeds, or from embeddings that are there.

A killed call leaves a folder that no manifest names. The next segment has the same folder: what is embedded there of
the same data is taken up, everything else is written anew.
"""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from fairground.deploy.byte_rows import write_byte_rows
from fairground.deploy.embedding_file import embed_to_file
from fairground.deploy.inputs import EmbeddingInputs
from fairground.deploy.manifest import SEGMENTS, Manifest, SegmentEntry
from fairground.deploy.model import UsableModel
from fairground.deploy.segment import EMBEDDINGS, SegmentTexts, finish_segment
from fairground.deploy.thumbnails import FILES as THUMBNAILS
from fairground.deploy.thumbnails import write_thumbnails
from fairground.files import settle

Tell = Callable[[str, int, int], None]


def embedded_segment(
    folder: Path, manifest: Manifest, model: UsableModel, inputs: EmbeddingInputs, texts: SegmentTexts, tell: Tell
) -> SegmentEntry:
    """Embed what `inputs` name into the next segment of an index, with small pictures, and return its entry."""
    place = _next_place(folder, manifest)
    # Before the embeddings, which cost more and are taken up where they stopped.
    if inputs.images.is_picture:
        write_thumbnails(inputs.images, place, lambda done, of: tell("small pictures", done, of))
    embed_to_file(model, inputs, place / EMBEDDINGS, tell=lambda done, of: tell("embedding", done, of))
    (place / EMBEDDINGS).with_suffix(".json").unlink(missing_ok=True)
    return _finished(place, manifest.next_id + np.arange(len(inputs)), texts)


def copied_segment(
    folder: Path,
    manifest: Manifest,
    blocks: Iterable[np.ndarray],
    ids: np.ndarray,
    texts: SegmentTexts,
    thumbnails: Iterable[bytes] | None = None,
) -> SegmentEntry:
    """Write embeddings that are there, block by block, into the next segment of an index, and return its entry."""
    place = _next_place(folder, manifest)
    if thumbnails is not None:
        write_byte_rows(place, THUMBNAILS, thumbnails)
    rows = np.lib.format.open_memmap(place / EMBEDDINGS, mode="w+", dtype=np.float32, shape=(len(ids), manifest.width))
    done = 0
    for block in blocks:
        rows[done : done + len(block)] = block
        done += len(block)
    rows.flush()
    return _finished(place, ids, texts)


def remove_strays(folder: Path, manifest: Manifest) -> None:
    """Remove segments and lists that the manifest does not name, but for the next segment, which may be begun."""
    named = {entry.name for entry in manifest.segments} | {manifest.segment_name}
    for place in sorted((folder / SEGMENTS).glob("*")):
        if place.name not in named:
            shutil.rmtree(place, ignore_errors=True)
    for path in sorted(folder.glob("removed-*.npy")):
        if manifest.removed is None or path.name != manifest.removed.file:
            path.unlink(missing_ok=True)


def _next_place(folder: Path, manifest: Manifest) -> Path:
    place = folder / SEGMENTS / manifest.segment_name
    place.mkdir(parents=True, exist_ok=True)
    for stale in (THUMBNAILS, "labels"):
        for ending in ("bin", "npy"):
            (place / f"{stale}.{ending}").unlink(missing_ok=True)
    return place


def _finished(place: Path, ids: np.ndarray, texts: SegmentTexts) -> SegmentEntry:
    entry = finish_segment(place, ids, texts)
    for folder in (place, place.parent, place.parent.parent):
        settle(folder)
    return entry
