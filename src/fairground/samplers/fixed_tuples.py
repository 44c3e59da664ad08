"""Fixed tuples: batches put together from pairs, triplets or larger groups listed in a file.

Formula
    B = the images of the next b/t tuples of t images each; the tuples are shuffled every epoch

Paper
    None: for comparisons in which every method must see the same tuples.

Departures from the paper
    None.
"""

from pathlib import Path

import numpy as np
import torch

from fairground.contracts.sampler import BatchSampler, Labels, label_tensor, require
from fairground.records import DataError, FairgroundError, InputError, read_arrays, reading, require_file


class FixedTuplesSampler(BatchSampler):
    """`file` lists one tuple per line as row numbers of the training split, counted from 0.

    Read are .csv (commas), .txt (blanks) and .npz (an array `tuples` of whole numbers, one tuple per row). Tuples are
    shuffled every epoch unless `shuffle` is off; those that do not fill a batch wait for the next epoch.
    """

    def __init__(self, *, labels: Labels, batch_size: int, file: str, shuffle: bool = True, seed: int = 0) -> None:
        super().__init__(batch_size=batch_size, seed=seed)
        labels = label_tensor(labels)
        tuples = _read(Path(file))
        n_tuples, length = tuples.shape
        refusal = f"the tuples of '{file}' have {length} images each: the batch size must be a multiple"
        require(batch_size >= 1 and batch_size % length == 0, f"{refusal}; got {batch_size}")
        refusal = f"'{file}' lists {n_tuples} tuples; a batch of {batch_size} takes {batch_size // length}"
        require(n_tuples >= batch_size // length, refusal, DataError)
        lowest, highest = int(tuples.min()), int(tuples.max())
        refusal = f"'{file}' must list rows in 0..{len(labels) - 1}, the training split; got {lowest}..{highest}"
        require(lowest >= 0 and highest < len(labels), refusal, DataError)
        self._tuples, self._shuffle = torch.from_numpy(tuples).to(labels.device), shuffle
        self.n_batches = self._tuples.numel() // self.batch_size

    def plan(self, generator: torch.Generator) -> torch.Tensor:
        tuples = self._tuples
        if self._shuffle:
            tuples = tuples[torch.randperm(len(tuples), generator=generator, device=generator.device)]
        return tuples.flatten()[: self.n_batches * self.batch_size].view(self.n_batches, self.batch_size)


def _read(path: Path) -> np.ndarray:
    require(path.exists(), f"sampler.file must be a file that can be read; there is none at '{path}'")
    require(path.suffix in (".csv", ".txt", ".npz"), f"sampler.file must end in .csv, .txt or .npz; got '{path.name}'")
    require_file(path)
    try:
        tuples = read_arrays(path, ["tuples"])["tuples"] if path.suffix == ".npz" else _read_text(path)
    except (FairgroundError, ValueError, OSError) as error:
        raise InputError(f"'{path}' cannot be read as tuples of whole numbers: {error}") from error
    refusal = f"'{path}' must list tuples of whole numbers, one per row; got {tuples.dtype} of shape {tuples.shape}"
    require(tuples.ndim == 2 and tuples.size > 0 and np.issubdtype(tuples.dtype, np.integer), refusal, DataError)
    return tuples.astype(np.int64)


def _read_text(path: Path) -> np.ndarray:
    with reading(path) as file:
        # NumPy warns about an empty file; an empty table is refused by its shape instead.
        if not file.read(1):
            return np.empty((0, 0), dtype=np.int64)
        file.seek(0)
        return np.loadtxt(file, dtype=np.int64, delimiter="," if path.suffix == ".csv" else None, ndmin=2)
