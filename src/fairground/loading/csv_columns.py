"""Columns of a table of images: labels, splits, paths and crop boxes, checked row by row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from fairground.errors import DataError, require
from fairground.files import read_csv, require_file, shown
from fairground.spec.catalogue import nearest

#: after so many boxes that do not fit, the middle is taken
_TRIES = 10


def random_resized_boxes(
    sizes: np.ndarray,
    generator: torch.Generator,
    *,
    area: tuple[float, float],
    ratio: tuple[float, float],
) -> np.ndarray:
    """Return one box (k, 4) an image of a random share of its `area` and a random `ratio` of width to height.

    The share is uniform and the ratio log-uniform. The first of ten draws that fits is placed uniformly; where none
    does, the box is the largest central one whose ratio is allowed.
    """
    k = len(sizes)
    draws = _uniform((_TRIES, k, 2), generator)
    shares = area[0] + (area[1] - area[0]) * draws[:, :, 0]
    ratios = np.exp(np.log(ratio[0]) + (np.log(ratio[1]) - np.log(ratio[0])) * draws[:, :, 1])
    target = sizes.prod(axis=1) * shares
    tried = np.rint(np.sqrt(np.stack([target / ratios, target * ratios], axis=2))).astype(np.int64)  # (tries, k, 2)
    fits = ((tried > 0) & (tried <= sizes)).all(axis=2)
    cut = tried[fits.argmax(axis=0), np.arange(k)]
    corner = np.floor(_uniform((k, 2), generator) * (sizes - cut + 1)).astype(np.int64)
    none = ~fits.any(axis=0)
    cut[none] = _widest_allowed(sizes[none], ratio)
    corner[none] = (sizes[none] - cut[none]) // 2
    return _boxes(corner, cut)


def random_boxes(sizes: np.ndarray, generator: torch.Generator, side: int) -> np.ndarray:
    """Return one square box (k, 4) of that `side` an image, placed uniformly."""
    corner = np.floor(_uniform((len(sizes), 2), generator) * (sizes - side + 1)).astype(np.int64)
    return _boxes(corner, np.full_like(sizes, side))


def central_boxes(sizes: np.ndarray, side: int) -> np.ndarray:
    """Return the square box (k, 4) of that `side` in the middle of each image; halves go to the even number."""
    return _boxes(np.rint((sizes - side) / 2).astype(np.int64), np.full_like(sizes, side))


def random_flips(n: int, generator: torch.Generator, probability: float) -> torch.Tensor:
    """Return which of `n` images are mirrored, on the generator's device."""
    return torch.rand(n, generator=generator, device=generator.device) < probability


def _widest_allowed(sizes: np.ndarray, ratio: tuple[float, float]) -> np.ndarray:
    """Return the largest height and width (k, 2) within each image whose ratio is allowed."""
    height, width = sizes[:, 0], sizes[:, 1]
    shape = width / height
    high = np.where(shape < ratio[0], np.rint(width / ratio[0]).astype(np.int64), height)
    wide = np.where(shape > ratio[1], np.rint(height * ratio[1]).astype(np.int64), width)
    # A sliver of an image may round to nothing.
    return np.stack([high, wide], axis=1).clip(min=1)


def _boxes(corner: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """Return boxes from (top, left) and (height, width)."""
    return np.concatenate([corner[:, ::-1], (corner + cut)[:, ::-1]], axis=1)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> np.ndarray:
    """Draw from [0, 1) in single precision, which every device has and no side of an image exhausts."""
    drawn: np.ndarray = torch.rand(*shape, generator=generator, device=generator.device).cpu().double().numpy()
    return drawn


if TYPE_CHECKING:
    import pyarrow

#: what may stand for yes and no
_TRUTH = {"true": True, "1": True, "yes": True, "1.0": True, "false": False, "0": False, "no": False, "0.0": False}


class Columns:
    """The columns of one file, as text; `names` in the file's order. Missing values are empty."""

    def __init__(self, path: Path, columns: Mapping[str, list[str]]) -> None:
        self.path, self._columns = path, columns
        self.n_rows = len(next(iter(columns.values()), []))
        require(self.n_rows > 0, f"{path} has no rows", DataError)

    @property
    def names(self) -> list[str]:
        """The columns' names, in the file's order."""
        return list(self._columns)

    def pick(self, *names: str) -> str | None:
        """Return the first of several names that the file has; refuse a file that has two of them."""
        there = [name for name in names if name in self._columns]
        require(len(there) < 2, f"{self.path} has both {' and '.join(there)}, which mean the same", DataError)
        return there[0] if there else None

    def text(self, name: str) -> list[str]:
        """Return a column that the file must have."""
        require(
            name in self._columns,
            f"{self.path} has no column '{name}'.{nearest(name, self._columns)} It has: {self._listed()}.",
            DataError,
        )
        return self._columns[name]

    def truth(self, name: str) -> np.ndarray:
        """Return a column of yes and no; an empty cell is no."""
        found = [_TRUTH.get(word.strip().lower(), False if not word.strip() else None) for word in self.text(name)]
        wrong = next((row for row, value in enumerate(found) if value is None), None)
        if wrong is not None:
            self._refuse(name, wrong, "true or false")
        return np.array(found, dtype=bool)

    def blank(self, name: str) -> np.ndarray:
        """Return which cells of a column are empty."""
        return np.array([not word.strip() for word in self.text(name)], dtype=bool)

    def integers(self, name: str, blank: int | None = None) -> np.ndarray:
        """Return a column of whole numbers, which may be written as 3.0; an empty cell is `blank`, where given."""
        numbers = []
        for row, word in enumerate(self.text(name)):
            if blank is not None and not word.strip():
                numbers.append(blank)
                continue
            try:
                value = float(word)
            except ValueError:
                value = float("nan")
            if not value.is_integer() or abs(value) >= 2**62:
                self._refuse(name, row, "a whole number")
            numbers.append(int(value))
        return np.array(numbers, dtype=np.int64)

    def require_filled(self, name: str) -> None:
        """Refuse a column with an empty cell."""
        empty = next((row for row, word in enumerate(self.text(name)) if not word.strip()), None)
        if empty is not None:
            self._refuse(name, empty, "filled")

    def _listed(self) -> str:
        return ", ".join(shown(name).strip("'") for name in self._columns)

    def _refuse(self, name: str, row: int, wanted: str) -> None:
        found = shown(self._columns[name][row])
        raise DataError(f"{self.path}: row {row + 1} of '{name}' must be {wanted}; got {found}")


def read_columns(path: Path) -> Columns:
    """Return the columns of a CSV or Parquet file."""
    if path.suffix.lower() in (".parquet", ".pq"):
        table = read_parquet(path)
        texts = {name: [_as_text(value) for value in table.column(name).to_pylist()] for name in table.column_names}
        return Columns(path, texts)
    table = read_csv(path, error=DataError)
    return Columns(path, {name: [row[place] for row in table.rows] for place, name in enumerate(table.columns)})


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> "pyarrow.Table":
    """Return a Parquet file's table, or say what to install."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(
            f"reading {path} needs pyarrow: pip install 'fairground[parquet]', or save the table as CSV"
        ) from error
    require_file(path, error=DataError)
    try:
        return parquet.read_table(str(path), columns=None if columns is None else list(columns), memory_map=True)
    except (OSError, ValueError, MemoryError, RuntimeError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} is not a readable Parquet file: {error}") from error


def _as_text(value: object) -> str:
    return "" if value is None else str(value)


#: the words a list may use, and the part each means
PARTS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
}


def parts_from_words(words: list[str], origin: str) -> np.ndarray:
    """Return the part (n,) each word means; an empty one leaves the image out."""
    meaning = {word: PARTS.get(word.strip().lower(), "") for word in set(words)}
    unknown = sorted(word for word, part in meaning.items() if not part and word.strip())
    require(
        not unknown,
        f"{origin}: a split is train, validation or test, or empty; got {shown(''.join(unknown[:1]))}."
        f"{nearest(unknown[0], PARTS) if unknown else ''}",
        DataError,
    )
    return np.array([meaning[word] for word in words], dtype="<U10")


def held_out(parts: np.ndarray) -> np.ndarray:
    """Return which rows (n,) are kept for the end: those listed as test, or as validation where none tests.

    Tables made for OpenMetricLearning know train and validation only, and judge on the latter.
    """
    is_test = np.asarray(parts == "test")
    return is_test if is_test.any() else np.asarray(parts == "validation")
