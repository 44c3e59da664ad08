"""What damage to the files of a run and to the store does: right digits or a sentence, never other digits.

Each case copies a home, damages one file of it (a flipped bit, a cut, a byte overwritten) and does what a user would.
FAIRGROUND_BENCH_SEED draws other damages (0 by default).
"""

import os
import random
import shutil
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tests.records.factory import make_record
from tests.training.tiny import tiny

from benchmarks.harness import Table
from fairground.errors import DamageWarning, FairgroundError
from fairground.records.artefacts import RunFolder
from fairground.records.record import RunRecord
from fairground.records.store import Store
from fairground.records.stored_spec import stored_spec
from fairground.training.loop import StoppedError
from fairground.training.run import run
from fairground.training.stored_run import evaluate_stored

RUN_CASES = 1000
STORE_CASES = 1000
SEED = int(os.environ.get("FAIRGROUND_BENCH_SEED", "0"))
#: what may come of damage; anything else, "other digits" and tracebacks, is a fault of ours
HARMLESS = ("right digits", "a sentence")


def tables() -> Iterator[Table]:
    """Yield what became of each kind of damage."""
    with tempfile.TemporaryDirectory() as place:
        rows = [
            _row("a stopped run, resumed", damage_runs(Path(place) / "stopped", RUN_CASES // 2, resumed, seed=SEED)),
            _row("a finished run, evaluated", damage_runs(Path(place) / "done", RUN_CASES // 2, evaluated, seed=SEED)),
            _row("a store, all records read", damage_stores(Path(place) / "store", STORE_CASES, seed=SEED)),
        ]
    yield Table(
        title="Damaged files",
        note="One random bit flipped, byte overwritten or end cut off, in one random file of a run or in the store "
        f"(seed {SEED}).",
        header=["what", "cases", "right digits", "a sentence", "other digits", "traceback"],
        rows=rows,
    )


def damage(path: Path, draw: random.Random) -> str:
    """Damage a file in one of three ways and return which."""
    data = bytearray(path.read_bytes())
    if not data:
        path.write_bytes(b"\0")
        return "filled"
    place = draw.randrange(len(data))
    kind = draw.choice(("flipped", "flipped", "overwritten", "cut"))
    if kind == "flipped":
        data[place] ^= 1 << draw.randrange(8)
    elif kind == "overwritten":
        data[place] = draw.randrange(256)
    else:
        del data[place:]
    path.write_bytes(data)
    return kind


def damage_runs(
    place: Path, n_cases: int, use: Callable[[Path], Callable[[Path], str]], *, seed: int = 0
) -> Counter[str]:
    """Return what became of a run's use after each of so many damages."""
    original = place / "original"
    act = use(original)
    (name,) = (path.name for path in (original / "runs").iterdir())
    truth = act(_copy(original, place / "case"))
    draw, found = random.Random(seed), Counter[str]()
    for _ in range(n_cases):
        home = _copy(original, place / "case")
        files = sorted(path for path in RunFolder(home, name).path.rglob("*") if path.is_file())
        damage(draw.choice(files), draw)
        found[_outcome(lambda home=home: act(home), truth)] += 1  # type: ignore[misc]
    return found


def resumed(home: Path) -> Callable[[Path], str]:
    """A run stopped after its ninth batch, with two checkpoints; to use it is to resume it."""
    batches = iter(range(100))
    with suppress(StoppedError):
        run(tiny(), home=home, should_stop=lambda: next(batches) == 9, checkpoint_seconds=0.0)
    (name,) = (path.name for path in (home / "runs").iterdir())
    return lambda copy: run(stored_spec(RunFolder(copy, name)), home=copy).digits()


def evaluated(home: Path) -> Callable[[Path], str]:
    """A finished run; to use it is to measure its selected model again."""
    record = run(tiny(), home=home)
    Store(home).append(record)
    return lambda copy: repr(evaluate_stored(copy, record.name, split="validation"))


def damage_stores(place: Path, n_cases: int, *, n_records: int = 30, seed: int = 0) -> Counter[str]:
    """Return what became of reading all records after each of so many damages to the database."""
    original = place / "original"
    store = Store(original)
    store.append_all([make_record(seed=number) for number in range(n_records)])
    store.close()
    truth = {record.name: record.to_json() for record in Store(original).records()}
    draw, found = random.Random(seed), Counter[str]()
    for _ in range(n_cases):
        home = _copy(original, place / "case")
        damage(home / "records.sqlite", draw)
        found[_store_outcome(home, truth)] += 1
    return found


def _store_outcome(home: Path, truth: dict[str, str]) -> str:
    """Damaged records may be left out with a sentence; what is there must be as it was written."""
    store = Store(home)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = {record.name: record.to_json() for record in store.records()}
            listed = [(row.name, row.value) for row in store.scores("map@r")]
            shown = [(run.name, run.state) for run in store.summaries()]
    except FairgroundError:
        return "a sentence"
    except Exception:
        return "traceback"
    finally:
        store.close()
    is_true = (
        found.items() <= truth.items()
        and all(RunRecord.from_json(truth[name]).score("map@r") == value for name, value in listed)
        and all(name in truth and state == "done" for name, state in shown)
    )
    if not is_true:
        return "other digits"
    if len(found) == len(listed) == len(shown) == len(truth):
        return "right digits"
    return "a sentence" if any(issubclass(one.category, DamageWarning) for one in warned) else "other digits"


def _outcome(act: Callable[[], str], truth: str) -> str:
    try:
        return "right digits" if act() == truth else "other digits"
    except FairgroundError:
        return "a sentence"
    except Exception:
        return "traceback"


def _copy(original: Path, home: Path) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(original, home)
    return home


def _row(what: str, found: Counter[str]) -> list[str]:
    kinds = ("right digits", "a sentence", "other digits", "traceback")
    return [what, f"{found.total():,}", *(str(found[kind]) for kind in kinds)]


if __name__ == "__main__":
    begun = time.monotonic()
    for table in tables():
        print(table.markdown())
    print(f"{time.monotonic() - begun:.0f} s")
