"""Every loss, miner, regulariser, sampler, metric, analysis and head on a device by the rules of CUDA and Metal."""

import json
from pathlib import Path

from tests.patience import python


def answers_of(module: str) -> dict[str, str]:
    """Return the JSON that a module prints in a process of its own: torch keeps a device that it once had."""
    finished = python("-m", module, cwd=Path(__file__).parents[2])
    assert finished.returncode == 0, finished.stderr
    answers: dict[str, str] = json.loads(finished.stdout)
    return answers


def test_every_part_does_on_a_device_what_it_does_on_the_cpu() -> None:
    failures = answers_of("tests.devices.every_part")
    assert int(failures.pop("")) > 100
    assert failures == {}


def test_whole_runs_on_a_device_are_those_of_the_cpu_and_resume_with_its_random_stream() -> None:
    failures = answers_of("tests.devices.whole_runs")
    assert failures == {"": "30"}
