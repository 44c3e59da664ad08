"""Columns of a table of images, checked row by row, and which part (train, validation or test) its words mean."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairground.spec import DataError, nearest, read_csv, require, require_file, shown

if TYPE_CHECKING:
    import pyarrow

#: what may stand for yes and no
_TRUTH = {"true": True, "1": True, "yes": True, "1.0": True, "false": False, "0": False, "no": False, "0.0": False}

#: the words a list may use, and the part each means
PARTS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}


class Columns:
    """The columns of one file, as text; `names` in the file's order. Missing values are empty."""

    def __init__(self, path: Path, columns: dict[str, list[str]]) -> None:
        self.path, self._columns, self.names = path, columns, list(columns)
        self.n_rows = len(next(iter(columns.values()), []))
        require(self.n_rows > 0, f"{path} has no rows", DataError)

    def pick(self, *names: str) -> str | None:
        """Return the first of several names that the file has; refuse a file that has two of them."""
        there = [name for name in names if name in self._columns]
        require(len(there) < 2, f"{self.path} has both {' and '.join(there)}, which mean the same", DataError)
        return there[0] if there else None

    def text(self, name: str) -> list[str]:
        listed = ", ".join(shown(name).strip("'") for name in self._columns)
        refusal = f"{self.path} has no column '{name}'.{nearest(name, self._columns)} It has: {listed}."
        require(name in self._columns, refusal, DataError)
        return self._columns[name]

    def truth(self, name: str) -> np.ndarray:
        """Return a column of yes and no; an empty cell is no."""
        found = [_TRUTH.get(word.strip().lower(), False if not word.strip() else None) for word in self.text(name)]
        wrong = next((row for row, value in enumerate(found) if value is None), None)
        if wrong is not None:
            self._refuse(name, wrong, "true or false")
        return np.array(found, dtype=bool)

    def blank(self, name: str) -> np.ndarray:
        return np.array([not word.strip() for word in self.text(name)], dtype=bool)

    def integers(self, name: str, blank: int | None = None) -> np.ndarray:
        """Return a column of whole numbers, which may be written as 3.0; an empty cell is `blank`, where given."""
        numbers = []
        for row, word in enumerate(self.text(name)):
            value = float(blank) if blank is not None and not word.strip() else float("nan")
            with suppress(ValueError):
                value = float(word)
            if not value.is_integer() or abs(value) >= 2**62:
                self._refuse(name, row, "a whole number")
            numbers.append(int(value))
        return np.array(numbers, dtype=np.int64)

    def require_filled(self, name: str) -> None:
        if self.blank(name).any():
            self._refuse(name, int(self.blank(name).argmax()), "filled")

    def _refuse(self, name: str, row: int, wanted: str) -> None:
        found = shown(self._columns[name][row])
        raise DataError(f"{self.path}: row {row + 1} of '{name}' must be {wanted}; got {found}")


def read_columns(path: Path) -> Columns:
    if path.suffix.lower() in (".parquet", ".pq"):
        table = read_parquet(path)
        values = {name: table.column(name).to_pylist() for name in table.column_names}
        texts = {name: ["" if value is None else str(value) for value in column] for name, column in values.items()}
        return Columns(path, texts)
    table = read_csv(path, error=DataError)
    return Columns(path, {name: [row[place] for row in table.rows] for place, name in enumerate(table.columns)})


def read_parquet(path: Path) -> "pyarrow.Table":
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        advice = "pip install 'fairground[parquet]', or save the table as CSV"
        raise DataError(f"reading {path} needs pyarrow: {advice}") from error
    require_file(path, error=DataError)
    try:
        return parquet.read_table(str(path), memory_map=True)
    except (OSError, ValueError, MemoryError, RuntimeError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} is not a readable Parquet file: {error}") from error


def classes_of(words: list[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a number for each word and the words in order; in order of number where all are numbers."""
    distinct = set(words)
    is_numeric = all(word.isascii() and word.isdigit() for word in distinct)
    # 2 comes before 10 where classes are numbered, as it does in the lists of the benchmarks.
    names = sorted(distinct, key=(lambda word: (int(word), word)) if is_numeric else None)
    number = {name: label for label, name in enumerate(names)}
    return np.array([number[word] for word in words], dtype=np.int64), tuple(names)


def parts_from_words(words: list[str], origin: str) -> np.ndarray:
    """Return the part (n,) each word means; an empty one leaves the image out."""
    meaning = {word: PARTS.get(word.strip().lower(), "") for word in set(words)}
    unknown = sorted(word for word, part in meaning.items() if not part and word.strip())
    for word in unknown:
        told = f"{origin}: a split is train, validation or test, or empty; got {shown(word)}"
        raise DataError(f"{told}.{nearest(word, PARTS)}")
    return np.array([meaning[word] for word in words], dtype="<U10")


def held_out(parts: np.ndarray) -> np.ndarray:
    """Return which rows (n,) are kept for the end: those listed as test, or as validation where none tests.

    Tables made for OpenMetricLearning know train and validation only, and judge on the latter.
    """
    is_test = np.asarray(parts == "test")
    return is_test if is_test.any() else np.asarray(parts == "validation")
