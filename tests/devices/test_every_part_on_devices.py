"""Every loss, miner, regulariser, sampler, metric, analysis and head on a device with the rules of CUDA or of Metal."""

import json
import os
from pathlib import Path

import pytest

from tests.patience import python


def answers_of(module: str, rules: str, *arguments: str) -> dict[str, str]:
    """Return the JSON that a module prints in a process of its own: torch keeps a device that it once had."""
    environment = os.environ | {"SIMULATED_RULES": rules}
    finished = python("-m", module, *arguments, cwd=Path(__file__).parents[2], env=environment)
    assert finished.returncode == 0, finished.stderr
    answers: dict[str, str] = json.loads(finished.stdout)
    return answers


@pytest.mark.parametrize("rules", ["cuda", "metal"])
def test_every_part_does_on_a_device_what_it_does_on_the_cpu(rules: str) -> None:
    failures = answers_of("tests.devices.every_part", rules)
    assert int(failures.pop("")) > 100
    assert failures == {}


@pytest.mark.parametrize("rules", ["cuda", "metal"])
def test_whole_runs_on_a_device_are_those_of_the_cpu_and_resume_with_its_random_stream(rules: str) -> None:
    failures = answers_of("tests.devices.whole_runs", rules)
    assert failures == {"": "30"}
