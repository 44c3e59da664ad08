"""A trained model ready to be used, from a run or from a model folder: pictures in, embeddings out.

An `.npz` holds `embeddings`, `files`, `labels` and `class_names` where classes are known, and `left_out`, the names of
unreadable pictures; an `.npy` has the same beside it as `.json`. The file appears when it is complete.
"""

import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import torch

from fairground.contracts import DataError, Images, StoreError, Transform, cannot_write, require, write_atomically
from fairground.deploy.inputs import Embeddable, EmbeddingInputs, Tell, read_inputs
from fairground.deploy.metadata import ModelMetadata
from fairground.evaluation.embed import PIXELS
from fairground.loading import gray, read_ahead
from fairground.training.embedding_model import EmbeddingModel

#: rows read at once: as many pictures as fit in memory twice, or rows of features
PICTURES = 128
FEATURES = 4096


class Embedder(torch.nn.Module):
    """From a transform's output to the embeddings that are compared: of unit length if `normalise`."""

    def __init__(self, model: EmbeddingModel, *, normalise: bool) -> None:
        super().__init__()
        self.model, self.normalise = model, normalise

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        embeddings: torch.Tensor = self.model(inputs)
        return torch.nn.functional.normalize(embeddings, dim=1) if self.normalise else embeddings


@dataclass(frozen=True, kw_only=True)
class UsableModel:
    """A network in evaluation mode on a device, with its transform and metadata."""

    network: EmbeddingModel
    transform: Transform
    metadata: ModelMetadata
    device: torch.device

    def embed(self, data: Embeddable, *, raw: bool = False) -> np.ndarray:
        """Return the embeddings (n, d) of a folder, a table, an image or a file of features, in order."""
        return np.concatenate([*self.blocks(read_inputs(data).images, raw=raw)])

    @torch.no_grad()
    def blocks(self, images: Images, *, raw: bool = False, tell: Tell = lambda *_: None) -> Iterator[np.ndarray]:
        """Yield the embeddings of one block after another; the next is read meanwhile."""
        wanted = resized_images(images, self.metadata)
        step = PICTURES if images.is_picture else FEATURES
        embedder = Embedder(self.network, normalise=self.metadata.normalise and not raw).eval()
        begins = range(0, len(images), step)

        def read(begin: int) -> torch.Tensor:
            return self.transform.evaluate(wanted, np.arange(begin, min(begin + step, len(images))), self.device)

        for begin, inputs in zip(begins, read_ahead(read, begins), strict=True):
            pixels = inputs.shape[-2] * inputs.shape[-1] if inputs.ndim == 4 else 1
            pieces = [embedder(piece) for piece in torch.split(inputs, max(1, PIXELS // pixels))]
            yield torch.cat(pieces).float().cpu().numpy()
            tell(min(begin + step, len(images)), len(images))


class ResizedImages(Images):
    """Serves `source` with `channels` channels; whole images are stretched to `size` if that is given."""

    def __init__(self, source: Images, *, channels: int, size: tuple[int, int] | None) -> None:
        self.source, self.size, self.channels, self.is_slow = source, size, channels, source.is_slow

    def __len__(self) -> int:
        return len(self.source)

    def prepare(self, tell: Tell | None = None) -> None:
        self.source.prepare(tell)

    def take(self, rows: np.ndarray) -> torch.Tensor:
        """Return the whole images of `rows`, stretched to the model's size where they have another."""
        sizes = None if self.size is None else self.source.sizes(rows)
        if sizes is None or bool((sizes == np.array(self.size)).all()):
            return self._recoloured(self.source.take(rows))
        assert self.size is not None
        height, width = self.size
        refusal = f"this model takes whole images of {height} x {width} pixels (height x width); resize them first"
        require(height == width, refusal, DataError)
        boxes = np.hstack([np.zeros_like(sizes), sizes[:, ::-1]])
        return self._recoloured(self.source.crops(rows, boxes, height))

    def sizes(self, rows: np.ndarray, *, shorter_side: int | None = None) -> np.ndarray:
        return self.source.sizes(rows, shorter_side=shorter_side)

    def crops(self, rows: np.ndarray, boxes: np.ndarray, side: int, *, shorter_side: int | None = None) -> torch.Tensor:
        return self._recoloured(self.source.crops(rows, boxes, side, shorter_side=shorter_side))

    def fingerprint(self) -> str:
        return self.source.fingerprint()

    def _recoloured(self, pixels: torch.Tensor) -> torch.Tensor:
        if pixels.shape[1] == self.channels:
            return pixels
        return pixels.expand(-1, 3, -1, -1) if self.channels == 3 else gray(pixels).to(torch.uint8)


def resized_images(images: Images, metadata: ModelMetadata) -> Images:
    """Return images as the model takes them, or refuse them in a sentence."""
    given = "pictures" if images.is_picture else f"features of width {images.channels}"
    if metadata.is_picture:
        require(images.is_picture, f"this model embeds pictures, but the data are {given}", DataError)
    else:
        first = ". Pass them through that encoder first" if images.is_picture else ""
        refusal = f"the data are {given}, but this model takes {metadata.features_wanted()}{first}"
        require(not images.is_picture and images.channels == metadata.channels, refusal, DataError)
    if not images.is_picture or (images.channels == metadata.channels and metadata.size is None):
        return images
    return ResizedImages(images, channels=metadata.channels, size=metadata.size)


def embed_to_file(
    model: UsableModel, inputs: EmbeddingInputs, out: Path, *, raw: bool = False, tell: Tell = lambda *_: None
) -> Path:
    """Write the embeddings of all rows to an .npy or .npz file and return its path; memory stays that of two blocks."""
    require(out.suffix in (".npy", ".npz"), f"embeddings are written as .npy or .npz; got '{out}'")
    require(not out.is_dir(), f"cannot write '{out}': it is a folder")
    require(len(inputs) > 0, "there is nothing to embed")
    header = {"descr": "<f4", "fortran_order": False, "shape": (len(inputs), model.metadata.embedding_dim)}
    columns = {"files": np.array(inputs.names)}
    if inputs.left_out:
        columns["left_out"] = np.array(inputs.left_out)
    if inputs.labels is not None:
        columns |= {"labels": inputs.labels, "class_names": np.array(inputs.class_names)}
    partial = out.with_name(f".{out.name}.partial")

    def write(file: IO[bytes]) -> None:
        np.lib.format.write_array_header_1_0(file, header)
        for block in model.blocks(inputs.images, raw=raw, tell=tell):
            file.write(np.ascontiguousarray(block, "<f4").tobytes())

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            if out.suffix == ".npy":
                write(file)
                listed = {name: column.tolist() for name, column in columns.items()}
                write_atomically(out.with_suffix(".json"), json.dumps(listed, ensure_ascii=False).encode())
            else:
                # Stored, not compressed: a reader can map the rows instead of loading them.
                with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                    with archive.open(zipfile.ZipInfo("embeddings.npy"), "w", force_zip64=True) as rows:
                        write(rows)
                    for name, column in columns.items():
                        with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                            np.lib.format.write_array(member, column, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(out)
    except OSError as error:
        raise StoreError(cannot_write(out, error)) from error
    finally:
        partial.unlink(missing_ok=True)
    return out
