"""Files that were damaged: the digits of an undisturbed day or a sentence, never other digits, never a traceback.

Some cases of a fixed seed; `python -m benchmarks damage` runs a thousand of each.
"""

from pathlib import Path

import pytest
from benchmarks.damage import HARMLESS, damage_runs, damage_stores, evaluated, resumed


@pytest.mark.parametrize("use", [resumed, evaluated])
def test_a_damaged_run_ends_with_the_same_digits_or_a_sentence(use, tmp_path: Path) -> None:
    found = damage_runs(tmp_path, 60, use, seed=19)
    assert set(found) <= set(HARMLESS), found
    assert found["right digits"] > 10
    assert found["a sentence"] > 0


def test_a_damaged_store_gives_what_was_written_or_a_sentence(tmp_path: Path) -> None:
    found = damage_stores(tmp_path, 150, seed=19)
    assert set(found) <= set(HARMLESS), found
    assert min(found.values()) > 10
