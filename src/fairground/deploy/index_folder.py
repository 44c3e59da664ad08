"""An index: the embeddings of a collection with the model that made them, in a folder that can be copied elsewhere.

<folder>/
    index.json       width, classes, and how many bytes of each file below count
    rows.f32         the embeddings, one row after another, mapped when searched
    labels.i32       the class of each row, a number in index.json; empty for rows without classes
    names.jsonl      the file each row comes from, one JSON string per line
    thumbnails.bin   small pictures, with thumbnails.i64 to find them; empty for features
    removed.i64      the numbers of removed rows
    model/           the model, as `fairground export` writes it

Files only grow. A change appends to them and then replaces index.json in one step, so that a killed change leaves the
index as it was, and the next one overwrites what it left. A row's number is its identifier and is never used again.
"""

import json
import os
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from fairground.deploy import UNIT_LENGTH, Embeddable, Matches, UsableModel, read_inputs, search, thumbnails_of
from fairground.deploy.index_search import search_signs
from fairground.deploy.model_folder import read_model, require_place, write_model
from fairground.deploy.quantised_rows import SHORTLIST, Precision, QuantisedRows, quantise, signs_of
from fairground.files import cannot_write, held, read_json, sweep, write_atomically
from fairground.spec import DataError, StoreError, nearest, require

MARK = "index.json"
MODEL = "model"
_FORMAT, _VERSION = "fairground index", 5
_ROWS, _LABELS, _NAMES, _REMOVED = "rows.f32", "labels.i32", "names.jsonl", "removed.i64"
_PICTURES, _PICTURE_ENDS = "thumbnails.bin", "thumbnails.i64"
#: rows of eight bits, and the signs that they are found by
_CODES, _SCALES, _SIGNS = "rows.i8", "scales.f32", "signs.u64"
_FILES = (_ROWS, _LABELS, _NAMES, _REMOVED, _PICTURES, _PICTURE_ENDS, _CODES, _SCALES, _SIGNS)
_LOCK = "index.lock"
#: calibration of the open-set decision (`unknown_classes.py`)
TRIALS = "open_set.npz"
_BLOCK = 65536
Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class IndexInfo:
    """The content of index.json: raw embeddings are compared by Euclidean distance, others by cosine.

    `precision` is that of the rows: float32, int8, or binary, which is int8 found by signs first.

    `n` counts removed rows too. `sizes` is how many bytes of each file count, `sums` their checksums. `left_out` names
    unreadable pictures.
    """

    width: int
    is_raw: bool
    n: int = 0
    class_names: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(_FILES, 0))
    sums: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(_FILES, 0))
    left_out: tuple[str, ...] = ()
    precision: Precision = "float32"

    def write(self, folder: Path) -> None:
        content = {"format": _FORMAT, "version": _VERSION, **asdict(self)}
        write_atomically(folder / MARK, json.dumps(content, ensure_ascii=False, indent=1).encode())


@dataclass(frozen=True)
class Index:
    """An index folder as it was when it was opened; after a change, open it again."""

    folder: Path
    info: IndexInfo
    #: the embeddings (n, d) of every row, removed ones included
    rows: np.ndarray | QuantisedRows
    #: the numbers of removed rows, ascending
    removed: np.ndarray
    device: str = "auto"

    def __len__(self) -> int:
        return self.info.n - len(self.removed)

    @cached_property
    def model(self) -> UsableModel:
        """The model that made the embeddings, and makes those of queries."""
        return read_model(self.folder / MODEL, device=self.device)

    @cached_property
    def ids(self) -> np.ndarray:
        """The numbers of the rows that were not removed."""
        return np.setdiff1d(np.arange(self.info.n), self.removed, assume_unique=True)

    @cached_property
    def labels(self) -> np.ndarray | None:
        """The class (n,) of every row as a number in `info.class_names`; None where rows have no classes."""
        return _mapped(self.folder, self.info, _LABELS, "<i4") if self.info.class_names else None

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes that have rows, sorted."""
        used = () if self.labels is None else np.unique(self.labels[self.ids])
        return tuple(sorted(self.info.class_names[label] for label in used))

    @cached_property
    def names(self) -> list[str]:
        """The name of every row, removed ones included: the file it comes from."""
        lines = (self.folder / _NAMES).read_bytes()[: self.info.sizes[_NAMES]] if self.info.n else b""
        names: list[str] = json.loads(b"[" + lines.replace(b"\n", b",")[:-1] + b"]")
        return names

    def label(self, row: int) -> str | None:
        return None if self.labels is None else self.info.class_names[self.labels[row]]

    def thumbnail(self, row: int) -> bytes | None:
        """Return the small picture of a row, None for features."""
        ends = _mapped(self.folder, self.info, _PICTURE_ENDS, "<i8")
        begin, end = int(ends[row - 1]) if row else 0, int(ends[row])
        with (self.folder / _PICTURES).open("rb") as file:
            file.seek(begin)
            return file.read(end - begin) or None

    def search(self, queries: np.ndarray, k: int = 10) -> Matches:
        n_scored = SHORTLIST * k
        if self.info.precision != "binary" or n_scored >= len(self):
            return search(queries, self.rows, k, is_raw=self.info.is_raw, removed=self.removed)
        words = -(-self.info.width // 64)
        signs = _mapped(self.folder, self.info, _SIGNS, "<u8").reshape(self.info.n, words)
        return search_signs(queries, self.rows, signs, k, n_scored, self.removed)


@dataclass(frozen=True, kw_only=True)
class IndexChange:
    """Rows `added` and `removed`, and the `n` rows there are now.

    `has_dropped_classes` where rows came with classes and the index has none.
    """

    added: int
    removed: int
    n: int
    has_dropped_classes: bool = False


def open_index(folder: Path | str, *, device: str = "auto") -> Index:
    """Return an index; what is not one, or is damaged, is refused in a sentence."""
    path = Path(folder).expanduser()
    require(path.is_dir(), f"there is no index folder '{path}'; `fairground index` makes one", DataError)
    content = read_json(path / MARK, error=DataError)
    require(content.pop("format", None) == _FORMAT, f"{path / MARK} is not that of a fairground index", DataError)
    is_ours = content.pop("version", None) == _VERSION
    require(is_ours, f"{path} was written by another version of fairground; build it again", DataError)
    try:
        texts = {name: tuple(content[name]) for name in ("class_names", "left_out")}
        info = IndexInfo(**{**content, **texts})
        is_exact = info.precision == "float32"
        n_bytes = info.sizes[_ROWS] // 4 if is_exact else info.sizes[_CODES]
        is_sound = n_bytes == info.n * info.width
        is_sound = is_sound and all((path / name).stat().st_size >= size for name, size in info.sizes.items() if size)
        require(is_sound, "its files do not agree", DataError)
        for name in (_ROWS, _LABELS, _NAMES, _REMOVED, _CODES, _SCALES, _SIGNS):
            is_whole = zlib.crc32(_mapped(path, info, name, "u1").data) == info.sums[name]
            require(is_whole, f"{name} does not match its checksum", DataError)
        stored = _mapped(path, info, _ROWS if is_exact else _CODES, "<f4" if is_exact else "i1")
        stored = stored.reshape(info.n, info.width)
        rows = stored if is_exact else QuantisedRows(stored, _mapped(path, info, _SCALES, "<f4"))
        removed = np.unique(_mapped(path, info, _REMOVED, "<i8"))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"the index in {path} is damaged ({error}); build it again") from error
    return Index(path, info, rows, removed, device)


def _mapped(folder: Path, info: IndexInfo, name: str, kind: str) -> np.ndarray:
    n = info.sizes[name] // np.dtype(kind).itemsize
    # An empty file cannot be mapped.
    return np.memmap(folder / name, kind, "r", shape=(n,)) if n else np.empty(0, kind)


def create_index(folder: Path | str, *, width: int, is_raw: bool = False, precision: Precision = "float32") -> Index:
    """Make an empty index for ready-made embeddings of `width`; it has no model, so it is searched by embeddings."""
    path = Path(folder).expanduser()
    require(width >= 1, f"width must be at least 1; got {width}")
    is_free = not path.exists() or (path.is_dir() and not any(path.iterdir()))
    require(is_free, f"'{path}' already exists; name a new folder")
    IndexInfo(width=width, is_raw=is_raw, precision=precision).write(path)
    return open_index(path)


def build_index(
    model: UsableModel,
    data: Embeddable,
    folder: Path,
    *,
    precision: Precision = "float32",
    tell: Tell = lambda *_: None,
) -> Index:
    """Embed a collection into an index folder, in place of an index that is there once all is embedded."""
    inputs = read_inputs(data)
    require_place(folder, MARK, "an index")
    is_raw = not model.metadata.normalise
    refusal = f"an index of raw embeddings is compared by distance: its precision must be float32; got {precision}"
    require(not is_raw or precision == "float32", refusal)
    whole = folder.absolute()
    made = whole.with_name(f".{whole.name}.{os.getpid()}")
    try:
        IndexInfo(width=model.metadata.embedding_dim, is_raw=is_raw, precision=precision).write(made)
        write_model(model, made / MODEL)
        add_to_index(made, inputs, tell=tell, device=str(model.device))
        folder.mkdir(exist_ok=True)
        # Removed, not overwritten: a process that searches the old index keeps its files.
        shutil.rmtree(folder / MODEL, ignore_errors=True)
        for name in (MARK, *_FILES, TRIALS):
            (folder / name).unlink(missing_ok=True)
        for one in sorted(made.iterdir(), key=lambda one: one.name == MARK):
            one.replace(folder / one.name)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return open_index(folder)


def add_to_index(
    folder: Path | str,
    data: Embeddable,
    *,
    replace_names: bool = False,
    tell: Tell = lambda *_: None,
    device: str = "auto",
) -> IndexChange:
    """Embed the rows of `data` and add them to an index; `replace_names` removes rows of the same names."""
    inputs = read_inputs(data)
    require(len(inputs) > 0, "there is nothing to embed")
    with _changing(folder, device=device) as index:
        blocks = index.model.blocks(inputs.images, tell=partial(tell, "embedding"))
        classes = None if inputs.labels is None else [inputs.class_names[label] for label in inputs.labels.tolist()]
        pictures = thumbnails_of(inputs.images, lambda done, of: tell("small pictures", done, of))
        replaced = inputs.names if replace_names else ()
        return _add_rows(index, blocks, inputs.names, classes, pictures, replaced, inputs.left_out)


def add_embeddings(
    folder: Path | str,
    embeddings: np.ndarray,
    *,
    names: Sequence[str],
    classes: Sequence[str] | None = None,
    replace_names: bool = False,
) -> IndexChange:
    """Add ready-made embeddings (n, d) to an index, with the name and, where the index has some, the class of each."""
    with _changing(folder) as index:
        width = index.info.width
        is_fitting = embeddings.ndim == 2 and embeddings.shape[1] == width and len(embeddings) > 0
        require(is_fitting, f"embeddings must be (n, {width}) with at least one row; got {embeddings.shape}", DataError)
        counts = {len(embeddings), len(names), len(names if classes is None else classes)}
        require(len(counts) == 1, "every embedding needs one name and, where classes are given, one class", DataError)
        blocks = (embeddings[begin : begin + _BLOCK] for begin in range(0, len(embeddings), _BLOCK))
        return _add_rows(index, blocks, names, classes, (b"" for _ in names), names if replace_names else ())


def remove_from_index(folder: Path | str, *, ids: Iterable[int] = (), names: Iterable[str] = ()) -> IndexChange:
    """Remove rows by identifier, by name, or by a pattern of names such as `cats/*`; each must match a row."""
    with _changing(folder) as index:
        found = [*ids]
        unknown = np.setdiff1d(np.array(found, np.int64), index.ids)
        listed = ", ".join(map(str, unknown[:5])) + (f" and {len(unknown) - 5} more" if len(unknown) > 5 else "")
        require(len(unknown) == 0, f"no row of this index has the identifier {listed}", DataError)
        places: dict[str, list[int]] = {}
        for row in index.ids.tolist() if names else ():
            places.setdefault(index.names[row], []).append(row)
        for wanted in names:
            here = places.get(wanted) or [row for name in places if fnmatchcase(name, wanted) for row in places[name]]
            require(bool(here), f"no row of this index has the name '{wanted}'.{nearest(wanted, [*places])}", DataError)
            found += here
        gone = np.unique(np.array(found, np.int64))
        require(len(gone) > 0, "name the rows to remove, by identifier or by name")
        _append(index, {_REMOVED: [gone.astype("<i8").tobytes()]})
        return IndexChange(added=0, removed=len(gone), n=len(index) - len(gone))


@contextmanager
def _changing(folder: Path | str, *, device: str = "auto") -> Iterator[Index]:
    """Hold the lock of an index during a change; refuse if another process changes it."""
    path = open_index(folder).folder
    try:
        with held(path / _LOCK, f"the index {path}"):
            sweep(path)
            yield open_index(path, device=device)
    except OSError as error:
        raise StoreError(cannot_write(Path(error.filename or path), error)) from error


def _add_rows(
    index: Index,
    blocks: Iterable[np.ndarray],
    names: Sequence[str],
    classes: Sequence[str] | None,
    pictures: Iterable[bytes],
    replaced: Sequence[str],
    left_out: Sequence[str] = (),
) -> IndexChange:
    info = index.info
    refusal = "the rows of this index have classes; give those of the new rows: class folders, or a table with labels"
    require(not info.class_names or classes is not None, refusal, DataError)
    # Rows added to an index without classes have none.
    has_classes = bool(info.class_names) or info.n == 0
    numbers = {name: number for number, name in enumerate(info.class_names)}
    labels = [numbers.setdefault(str(name), len(numbers)) for name in classes or () if has_classes]
    same = set(replaced)
    gone = [row for row in index.ids.tolist() if index.names[row] in same] if same else []
    sizes: list[int] = []

    def measured() -> Iterator[bytes]:
        for picture in pictures:
            sizes.append(len(picture))
            yield picture

    def picture_ends() -> Iterator[bytes]:
        yield (info.sizes[_PICTURES] + np.cumsum(sizes, dtype="<i8")).tobytes()

    appended: dict[str, Iterable[bytes]] = {
        **_stored_rows((_checked(block, info) for block in blocks), info.precision),
        _LABELS: [np.array(labels, "<i4").tobytes()],
        _NAMES: (json.dumps(name).encode() + b"\n" for name in names),
        _PICTURES: measured(),
        _PICTURE_ENDS: picture_ends(),
        _REMOVED: [np.array(gone, "<i8").tobytes()],
    }
    _append(index, appended, n=info.n + len(names), class_names=tuple(numbers), left_out=(*info.left_out, *left_out))
    n, has_dropped = len(index) + len(names) - len(gone), classes is not None and not has_classes
    return IndexChange(added=len(names), removed=len(gone), n=n, has_dropped_classes=has_dropped)


def _stored_rows(blocks: Iterable[np.ndarray], precision: Precision) -> dict[str, Iterable[bytes]]:
    """Return the bytes of each file that rows of a precision are stored in; scales and signs wait for the codes."""
    if precision == "float32":
        return {_ROWS: (block.tobytes() for block in blocks)}
    waiting: dict[str, list[bytes]] = {_SCALES: [], _SIGNS: []}

    def codes() -> Iterator[bytes]:
        for block in blocks:
            found = quantise(block)
            waiting[_SCALES].append(found.scales.astype("<f4").tobytes())
            if precision == "binary":
                waiting[_SIGNS].append(signs_of(block).tobytes())
            yield found.codes.tobytes()

    return {_CODES: codes(), **waiting}


def _checked(block: np.ndarray, info: IndexInfo) -> np.ndarray:
    rows = np.ascontiguousarray(block, "<f4")
    require(bool(np.isfinite(rows).all()), "embeddings must be finite numbers; some of these are not", DataError)
    longest = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max(initial=0.0)))
    refusal = f"rows must have length 1 to be compared by cosine; got {longest:.4g}. Normalise them, or use is_raw=True"
    require(info.is_raw or longest <= UNIT_LENGTH, refusal, DataError)
    return rows


def _append(index: Index, appended: Mapping[str, Iterable[bytes]], **changes: Any) -> None:
    """Write after the bytes that count, over whatever a killed change left there; then say that they count."""
    sizes, sums = dict(index.info.sizes), dict(index.info.sums)
    for name, blocks in appended.items():
        with (index.folder / name).open("r+b" if (index.folder / name).exists() else "wb") as file:
            file.truncate(sizes[name])
            file.seek(sizes[name])
            for block in blocks:
                file.write(block)
                sums[name] = zlib.crc32(block, sums[name])
            file.flush()
            os.fsync(file.fileno())
            sizes[name] = file.tell()
    replace(index.info, sizes=sizes, sums=sums, **changes).write(index.folder)
