"""Whole recommendations on small data and a clock of the test's own: the network, last stages, what is handed over."""

import itertools

import numpy as np
import pytest

from fairground.commands.load_model import load_model
from fairground.commands.recommend import recommend
from fairground.recommendation import recommendation, trunk_choice
from fairground.recommendation.budget import SHARES, Budget, RaceProgress
from fairground.recommendation.candidates import plain
from fairground.recommendation.folder import RecommendationFolder
from fairground.recommendation.last_stages import FEWEST_STEPS, StageTraining
from fairground.recommendation.recommendation import Recommendation
from fairground.recommendation.request import Request, choose_protocol
from fairground.recommendation.trunk_choice import FIRST, TrunkScore, available_trunks, choose_trunk
from fairground.spec.adaptation import ALL
from tests.commands.quick_race import write_features
from tests.datasets.pictures import class_folders
from tests.training.test_adaptation import SUP_CON, photographs  # noqa: F401


def budget_of(seconds, *, second=0.02):
    """Return a budget whose clock advances by `second` whenever it is read, however busy the machine is."""
    ticks = itertools.count()
    return Budget(seconds, now=lambda: second * next(ticks))


def progress_of(budget):
    return RaceProgress(budget, is_quiet=True)


@pytest.fixture
def asked(tmp_path):
    root = class_folders(tmp_path / "photographs", [f"class {number}" for number in range(8)], per_class=4)
    choice = choose_protocol(is_picture=True, width=0, shorter_side=80, is_one_size=True, seconds=60)
    base = {
        "data": "folder",
        "data.root": str(root),
        **choice.overrides,
        "split": "random_halves",
        "transform.side": 64,
    }
    return Request(title="made", choice=choice, base=base, by="recall@1", seed=0)


def recommended(tmp_path, *, limit=16.0, second=0.02, **data):
    features = write_features(tmp_path / "made.npz", **data)
    choice = choose_protocol(is_picture=False, width=16, shorter_side=0, is_one_size=True, seconds=limit)
    base = {"data": "features", "data.path": str(features), "split": "random_halves"}
    request = Request(title="made", choice=choice, base=base, by="map@r", seed=0)
    folder, budget = RecommendationFolder(root=tmp_path / "home", name="made"), budget_of(limit, second=second)
    with folder.opened():
        return Recommendation(request, folder, budget, progress_of(budget)).run(), folder, budget


@pytest.mark.parametrize("second", [0.02, 0.2])
def test_the_time_is_kept_however_slow_a_step_is(tmp_path, second):
    found, folder, budget = recommended(tmp_path, second=second)
    assert found["n_measurements"] > 3
    assert folder.plan["spent"] <= budget.seconds * (SHARES["final"] + 0.1) + 40 * second


def test_training_that_does_not_help_hands_over_the_features_as_they_are(tmp_path):
    found, folder, _ = recommended(tmp_path, spread=0.05)
    assert found["is_frozen"]
    assert found["advice"][0].startswith("Training did not help here: take the raw features as they are")
    with np.load(tmp_path / "made.npz") as arrays:
        given = arrays["features"]
    embedded = load_model(folder.model).embed(str(tmp_path / "made.npz"), quiet=True)
    assert np.allclose(embedded, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-5)


def test_training_that_helps_is_handed_over_and_the_test_classes_agree(tmp_path):
    found, folder, _ = recommended(tmp_path, limit=24.0, n_noise=2, spread=0.8)
    assert not found["is_frozen"]
    assert found["advice"][0].startswith(f"Take {found['chosen']}: MAP@R")
    scores = found["test"]
    assert scores[found["chosen"]]["map@r"] > scores["raw features"]["map@r"]
    assert any(sentence.startswith("The test classes agree") for sentence in found["advice"])
    assert any(found["chosen"] in note for note in load_model(folder.model).metadata.notes)


def test_a_stop_while_networks_are_compared_hands_over_the_frozen_one(tmp_path, monkeypatch):
    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Recommendation, "_choose_network", stopped)
    features = write_features(tmp_path / "made.npz")
    found = recommend(features, time="20s", home=tmp_path / "home", quiet=True)
    assert found.is_stopped
    assert found.is_frozen
    assert found.page.is_file()
    assert found.load_model().embed(str(features), quiet=True).shape[0] > 0


def test_all_test_images_are_scored_though_the_time_is_too_short(asked, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRGROUND_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(recommendation, "choose_trunk", lambda *_: "")
    folder, budget = RecommendationFolder(root=tmp_path / "home", name="made"), budget_of(0.1)
    with folder.opened():
        session = Recommendation(asked, folder, budget, progress_of(budget))
        found = session.run()
    assert any("16 test images alone take" in sentence for sentence in session.progress.sentences)
    assert any(sentence.startswith("On 16 images of 4 test classes") for sentence in found["advice"])


def test_a_network_that_is_named_is_kept_and_without_a_choice_nothing_is_tried(asked, monkeypatch):
    assert available_trunks()[0] == FIRST
    named = Request(**{**vars(asked), "base": {**asked.base, "trunk": "resnet50"}})
    progress = progress_of(budget_of(60.0))
    assert choose_trunk(named, progress.budget, progress) == ""
    monkeypatch.setattr(trunk_choice, "available_trunks", lambda: [FIRST])
    assert choose_trunk(asked, progress.budget, progress) == ""
    assert progress.sentences == [
        "The network is resnet50, as you asked.",
        f"The network is {FIRST} with its ImageNet weights; `fairground weights` lists others.",
    ]


@pytest.mark.parametrize(
    ("ranks", "chosen", "sentence"),
    [
        ({"a": 0.4, "b": 0.6}, "b", "a 40.00, b 60.00. b is used."),
        ({"a": 0.4, "b": None}, "a", "The network b is left out: it is too slow for the time."),
        ({"a": None, "b": 0.4}, "a", "No time to compare networks (a, b): a is used."),
    ],
)
def test_the_network_that_is_best_on_the_sample_is_used(asked, ranks, chosen, sentence, monkeypatch):
    def score(trunk, *_):
        rank = ranks[trunk]
        return None if rank is None else TrunkScore(trunk, rank, rank, np.arange(400))

    monkeypatch.setattr(trunk_choice, "try_trunk", score)
    monkeypatch.setattr(trunk_choice, "available_trunks", lambda: ["a", "b"])
    progress = progress_of(budget_of(60.0))
    assert choose_trunk(asked, progress.budget, progress) == chosen
    assert any(sentence in said for said in progress.sentences)


def stages(photographs, *, limit):  # noqa: F811
    base, bench = photographs
    budget = budget_of(limit, second=0.001)
    return StageTraining(
        bench=bench,
        rows=bench.seen,
        n_folds=2,
        speed=1000.0,
        budget=budget,
        progress=progress_of(budget),
        spec_of=lambda candidate: candidate.spec("photographs", base, 0),
        step_seconds={},
    )


def test_with_time_last_stages_come_first_and_the_complete_network_last(photographs):  # noqa: F811
    # three stages is the complete trunk of the test, cut before its first
    found = stages(photographs, limit=100_000.0).candidates(SUP_CON)
    assert list(dict.fromkeys(candidate.depth for candidate in found)) == [2, 3, ALL]
    assert all(candidate.depth_steps >= FEWEST_STEPS and candidate.loss == SUP_CON.loss for candidate in found)
    assert len({candidate.label for candidate in found}) == len(found)
    assert photographs[1].n_views(2) == 3


def test_without_time_stages_are_left_out_and_nothing_deeper_is_tried_from_an_untrained_leader(photographs):  # noqa: F811
    late = stages(photographs, limit=0.001)
    assert late.candidates(SUP_CON) == []
    assert late.progress.sentences[-1].startswith("Training the last 2 stages is left out: a step takes")
    assert stages(photographs, limit=100_000.0).candidates(plain("frozen")) == []
