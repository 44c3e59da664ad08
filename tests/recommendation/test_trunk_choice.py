"""Several pretrained networks: the one whose frozen features suit the data best is taken, on classes to learn from."""

import itertools

import pytest

from fairground.commands.recommend import recommend
from fairground.recommendation import trunk_choice
from fairground.recommendation.protocol_choice import choose_protocol
from fairground.recommendation.race_clock import RaceClock
from fairground.recommendation.race_progress import RaceProgress
from fairground.recommendation.race_request import RaceRequest
from fairground.recommendation.race_state import RaceState
from fairground.recommendation.trunk_choice import FIRST, TrunkScore, TrunkTrial, available_trunks, with_trunk
from tests.commands.quick_race import write_features
from tests.datasets.pictures import class_folders


@pytest.fixture
def asked(tmp_path):
    root = class_folders(tmp_path / "photographs", [f"class {number}" for number in range(8)], per_class=4)
    choice = choose_protocol(is_picture=True, width=0, shorter_side=80, is_one_size=True, seconds=60)
    base = ("data=folder", f"data.root={root}", *choice.words, "split=random_halves", "transform.side=64")
    return RaceRequest(title="made", choice=choice, base=base, by="recall@1", seed=0)


@pytest.fixture
def state(tmp_path):
    made = RaceState(home=tmp_path / "home", name="made")
    made.path.mkdir(parents=True)
    return made


def progress_of(second=0.001):
    ticks = itertools.count()
    clock = RaceClock(limit=60.0, begun=0.0, now=lambda: second * next(ticks))
    return RaceProgress(clock, is_quiet=True)


def test_the_network_of_the_protocol_is_first_and_has_its_weights_here():
    assert available_trunks()[0] == FIRST


def test_a_network_that_is_named_is_kept(asked, state):
    named = RaceRequest(**{**vars(asked), "base": (*asked.base, "trunk=resnet50")})
    progress = progress_of()
    assert with_trunk(named, clock=progress.clock, state=state, progress=progress) == named
    assert state.trunk == ""
    assert progress.sentences == ["The network is resnet50, as you said."]


def test_without_a_choice_nothing_is_tried(asked, state, monkeypatch):
    monkeypatch.setattr(trunk_choice, "available_trunks", lambda: [FIRST])
    progress = progress_of()
    assert with_trunk(asked, clock=progress.clock, state=state, progress=progress) == asked
    assert progress.sentences == [
        f"The network is {FIRST} with its ImageNet weights; `fairground weights` lists others."
    ]


def test_the_best_on_the_sample_is_taken_and_kept_for_the_next_session(asked, state, monkeypatch):
    monkeypatch.setattr(trunk_choice, "available_trunks", lambda: ["a", "b"])
    ranks = {"a": 0.4, "b": 0.6}
    monkeypatch.setattr(TrunkTrial, "_score", _scored(ranks))
    progress = progress_of()
    found = with_trunk(asked, clock=progress.clock, state=state, progress=progress)
    assert found.base[-2:] == ("trunk=b", "trunk.weights=imagenet")
    assert "a 40.00, b 60.00. b is taken." in progress.sentences[0]
    ranks["a"] = 0.9
    again = RaceState(home=state.home, name=state.name)
    with again.opened():
        assert with_trunk(asked, clock=progress.clock, state=again, progress=progress).base == found.base


def test_a_network_that_is_too_slow_is_left_out_and_no_time_at_all_takes_the_first(asked, monkeypatch):
    progress = progress_of()
    monkeypatch.setattr(TrunkTrial, "_score", _scored({"a": 0.4, "b": None}))
    assert TrunkTrial(asked, progress.clock, progress).best(["a", "b"]) == "a"
    assert progress.sentences[0] == "The network b is left out: it is too slow for the time."
    monkeypatch.setattr(TrunkTrial, "_score", _scored({"a": None, "b": 0.4}))
    assert TrunkTrial(asked, progress.clock, progress).best(["a", "b"]) == "a"
    assert progress.sentences[-1] == "No time to compare networks (a, b): a is taken."


def test_a_frozen_network_is_scored_on_classes_to_learn_from(asked, state, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    progress = progress_of()
    trial = TrunkTrial(asked, progress.clock, progress)
    score = trial._score(FIRST)
    assert score is not None
    assert 0 <= score.asked <= 1
    assert trial.sample is not None
    assert len(trial.sample) == 16  # four of the eight classes; the others are sealed
    late = TrunkTrial(asked, RaceClock(limit=0.0, begun=0.0, now=lambda: 1.0), progress)
    late.sample = trial.sample
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "another"))
    monkeypatch.setattr("fairground.adaptation.embedding.BLOCK", 4)
    assert late._score(FIRST) is None


def _scored(ranks):
    def score(trial, trunk):
        trial.sample = range(400)
        rank = ranks[trunk]
        return None if rank is None else TrunkScore(trunk=trunk, asked=rank, rank=rank)

    return score


def test_a_stop_while_networks_are_compared_hands_over_the_frozen_one(tmp_path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(trunk_choice, "with_trunk", stopped)
    features = write_features(tmp_path / "made.npz")
    found = recommend(features, time="20s", home=tmp_path / "home", quiet=True)
    assert found.is_stopped
    assert found.is_frozen
    assert found.page.is_file()
    assert found.load_model().embed(str(features), quiet=True).shape[0] > 0
