"""A session on real features and a clock of the test's own: time is kept, and what helped is handed over."""

import itertools

import numpy as np
import pytest

from fairground.commands.load_model import load_model
from fairground.recommendation.ending_forecast import EndingForecast
from fairground.recommendation.ending_rehearsal import EndingRehearsal
from fairground.recommendation.protocol_choice import choose_protocol
from fairground.recommendation.race_clock import RaceClock
from fairground.recommendation.race_ending import RaceEnding
from fairground.recommendation.race_progress import RaceProgress
from fairground.recommendation.race_request import RaceRequest
from fairground.recommendation.race_session import GOES_ON, RaceSession
from fairground.recommendation.race_state import RaceState
from tests.commands.quick_race import write_features


def made_session(tmp_path, *, limit=16.0, second=0.02, **data):
    """Return a session whose clock goes on by `second` whenever it is looked at, however busy the machine is."""
    features = write_features(tmp_path / "made.npz", **data)
    ticks = itertools.count()
    clock = RaceClock(limit=limit, begun=0.0, now=lambda: second * next(ticks))
    choice = choose_protocol(is_picture=False, width=16, shorter_side=0, is_one_size=True, seconds=limit)
    asked = RaceRequest(
        title="made",
        choice=choice,
        base=("data=features", f"data.path={features}", "split=random_halves"),
        by="map@r",
        seed=0,
    )
    state = RaceState(home=tmp_path / "home", name="made")
    session = RaceSession(asked, clock=clock, state=state, progress=RaceProgress(clock, is_quiet=True))
    session.prepare()
    session.run()
    return session


@pytest.mark.parametrize("second", [0.02, 0.2])
def test_work_stops_when_only_the_ending_is_left_however_slow_a_step_is(tmp_path, second):
    session = made_session(tmp_path, second=second)
    assert session.clock.reserve > 0
    # A rehearsal of the ending may give time back; what is left then is not worth going on for.
    assert session.clock.left() < GOES_ON * session.clock.limit
    # the look that says that it is over, and those of whoever asked on the way
    assert session.clock.seconds() < session.clock.limit + 20 * second


@pytest.fixture
def quick_ending(monkeypatch):
    """Let what the ending takes of the real clock not count on the one of the test."""
    monkeypatch.setattr(EndingForecast, "seconds", lambda _: 1.0)


def test_training_that_does_not_help_hands_over_the_features_as_they_are(tmp_path, quick_ending):
    session = made_session(tmp_path, spread=0.05)
    result = RaceEnding(session).end(is_stopped=False)
    assert result["is_frozen"]
    assert result["advice"][0].startswith("Training did not help here: take the raw features as they are")
    with np.load(tmp_path / "made.npz") as arrays:
        given = arrays["features"]
    embedded = load_model(session.state.model).embed(str(tmp_path / "made.npz"), quiet=True)
    assert np.allclose(embedded, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-5)


def test_training_that_helps_is_handed_over_and_the_test_classes_agree(tmp_path, quick_ending):
    session = made_session(tmp_path, limit=24.0, n_noise=2, spread=0.8)
    result = RaceEnding(session).end(is_stopped=False)
    assert not result["is_frozen"]
    assert result["advice"][0].startswith(f"Take {result['chosen']}: MAP@R")
    scores = result["test"]
    assert scores[result["chosen"]]["map@r"] > scores["raw features"]["map@r"]
    assert any(sentence.startswith("The test classes agree") for sentence in result["advice"])
    model = load_model(session.state.model)
    assert any(result["chosen"] in note for note in model.metadata.notes)


def test_what_was_rehearsed_is_handed_over_and_not_trained_again(tmp_path, quick_ending, monkeypatch):
    session = made_session(tmp_path, limit=24.0, n_noise=2, spread=0.8)
    candidate = session.decision().chosen.candidate
    prepared = EndingRehearsal(session).prepare(candidate)
    monkeypatch.setattr(session, "fit", lambda _: pytest.fail("trained again"))
    assert EndingRehearsal(session).prepare(candidate) is prepared
    assert session.prepared is prepared


def test_without_time_a_model_has_no_thresholds(tmp_path, quick_ending):
    session = made_session(tmp_path)
    session.prepared, session.clock.limit = None, 0.0
    assert EndingRehearsal(session).prepare(session.race.frozen[0]).thresholds == ()
