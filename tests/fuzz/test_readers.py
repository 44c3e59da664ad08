"""Every reader of foreign files: a result or a sentence of ours, under ten seconds and two gigabytes.

Some hundreds of cases of each; `python -m benchmarks fuzz` runs ten thousand.
"""

import random
import resource

import pytest
from benchmarks.foreign_files import readers
from benchmarks.fuzz import MEGABYTES, SECONDS, FuzzFindings, one_case
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

READERS = (
    "run specs (TOML)",
    "studies (TOML)",
    "stored specs (JSON)",
    "stored studies (JSON)",
    "records (JSON)",
    "checkpoints",
    "checkpoints, resealed",
    "features (.npz)",
    "features (.npy)",
    "tables (.csv)",
    "values (.csv)",
    "model folders",
    "index folders",
    "weights (.safetensors)",
    "weights (.pth)",
    "exported homes",
    "audits (JSON)",
    "pictures",
)
#: building a network takes longer than reading a file
CASES = {"model folders": 120, "index folders": 120}


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return readers(tmp_path_factory.mktemp("sound"))


def test_all_readers_are_here(known):
    assert tuple(known) == READERS


@pytest.mark.parametrize("name", READERS)
def test_a_changed_file_is_read_or_refused_in_a_sentence(name, known, tmp_path):
    found, before = FuzzFindings(), _megabytes()
    known[name].read(_sound(known[name], tmp_path / "sound"))

    @settings(
        max_examples=CASES.get(name, 300),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32))
    def one(seed: int) -> None:
        assert one_case(known[name], random.Random(seed), tmp_path / "case", found) != "a traceback", found.faults

    one()
    assert found.slowest < SECONDS
    assert _megabytes() - before < MEGABYTES


def _sound(reader, place):
    for name, data in reader.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(data)
    return place


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
