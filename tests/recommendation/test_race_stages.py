"""Stages of the network are trained only where a probe says that the time allows it, on a clock of the test's own."""

from types import SimpleNamespace

import pytest

from fairground.adaptation.workbench import Workbench
from fairground.recommendation.candidates import Candidate
from fairground.recommendation.race_clock import RaceClock
from fairground.recommendation.race_progress import RaceProgress
from fairground.recommendation.race_stages import FEWEST_STEPS, StageProbe
from fairground.spec.adaptation import ALL
from fairground.spec.load import load_run
from tests.adaptation.test_adapter import PHOTOGRAPHS, SUP_CON
from tests.datasets.pictures import class_folders


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    root = class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=4)
    base = [f"data.root={root}", "split=random_halves", *PHOTOGRAPHS]
    made = Workbench(load_run(protocol="photographs", overrides=base), is_small=False)
    made.embed(made.seen, is_time=lambda: True, tell=lambda *_: None)
    return base, made


def session(bench, *, limit, speed=1000.0):
    base, made = bench
    clock = RaceClock(limit=limit, begun=0.0, now=lambda: 0.0)
    return SimpleNamespace(
        bench=made,
        rows=made.seen,
        folds=made.folds(made.seen),
        clock=clock,
        speed=speed,
        progress=RaceProgress(clock, is_quiet=True),
        spec=lambda candidate: candidate.spec("photographs", base, 0),
    )


def test_with_time_last_stages_come_first_and_the_complete_network_last(bench):
    asked = session(bench, limit=100_000.0)
    # three stages is the complete trunk of the test, cut before its first
    found = StageProbe(asked).candidates(SUP_CON)
    depths = list(dict.fromkeys(candidate.depth for candidate in found))
    assert depths == [2, 3, ALL]
    assert all(candidate.depth_steps >= FEWEST_STEPS and candidate.words == SUP_CON.words for candidate in found)
    assert len({candidate.label for candidate in found}) == len(found)
    assert bench[1].n_views(2) == 3


def test_without_time_it_is_left_out_and_that_is_said(bench):
    asked = session(bench, limit=0.001)
    assert StageProbe(asked).candidates(SUP_CON) == []
    assert asked.progress.sentences[-1].startswith("Training the last 2 stages is left out: a step takes")


def test_nothing_deeper_is_tried_from_an_untrained_leader(bench):
    asked = session(bench, limit=100_000.0)
    assert StageProbe(asked).candidates(Candidate(name="frozen", words=("head=identity",))) == []
