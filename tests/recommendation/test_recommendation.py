"""Whole recommendations on small data and a clock of the test's own: the network, last stages, what is handed over."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fairground.commands.load_model import load_model
from fairground.recommendation import pretrained_network, recommendation
from fairground.recommendation.candidates import plain
from fairground.recommendation.choose_protocol import choose_protocol
from fairground.recommendation.pretrained_network import FEWEST_STEPS, FIRST, choose_trunk, stages_beyond
from fairground.recommendation.race import Race, RaceProgress
from fairground.recommendation.recommendation import Recommendation
from fairground.recommendation.recommendation_folder import RecommendationFolder
from fairground.recommendation.request import Request
from fairground.recommendation.time_budget import SHARES
from fairground.spec.adaptation_spec import ALL
from tests.commands.quick_race import ticking, write_features
from tests.datasets.pictures import class_folders
from tests.training.test_adaptation import SUP_CON, photographs  # noqa: F401

CPU = torch.device("cpu")


def progress_of(seconds, *, tick=0.02):
    return RaceProgress(ticking(seconds, tick=tick), is_quiet=True)


def recommended(request, tmp_path, progress):
    folder = RecommendationFolder(tmp_path / "home", {})
    with folder.opened():
        return Recommendation(request, folder, progress.budget, progress).run(), folder


def recommended_of_features(tmp_path, progress, **data):
    features = write_features(tmp_path / "made.npz", **data)
    base = {"data": "features", "data.path": str(features), "split": "random_halves"}
    return recommended(Request(title="made", kind="features", base=base, by="map@r", seed=0), tmp_path, progress)


@pytest.fixture
def asked(tmp_path):
    root = class_folders(tmp_path / "photographs", [f"class {number}" for number in range(8)], per_class=4)
    kind, chosen, _ = choose_protocol(is_picture=True, width=0, shorter_side=80, is_one_size=True, seconds=60)
    base = {"data": "folder", "data.root": str(root), **chosen, "split": "random_halves", "transform.side": 64}
    return Request(title="made", kind=kind, base=base, by="recall@1", seed=0)


@pytest.mark.parametrize("tick", [0.1, 0.2])
def test_the_time_is_kept_however_slow_a_step_is(tmp_path, tick):
    progress = progress_of(16.0, tick=tick)
    found, folder = recommended_of_features(tmp_path, progress)
    assert found["n_measurements"] > 3
    assert folder.plan["spent"] <= progress.budget.seconds * (SHARES["final"] + 0.1) + 40 * tick


def test_training_that_does_not_help_hands_over_the_features_as_they_are(tmp_path):
    found, folder = recommended_of_features(tmp_path, progress_of(16.0), spread=0.05)
    assert found["is_frozen"]
    assert found["advice"][0].startswith("Training did not help here: take the raw features as they are")
    with np.load(tmp_path / "made.npz") as arrays:
        given = arrays["features"]
    embedded = load_model(folder.model).embed(str(tmp_path / "made.npz"), quiet=True)
    assert np.allclose(embedded, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-5)


def test_training_that_helps_is_handed_over_and_the_test_classes_agree(tmp_path):
    found, folder = recommended_of_features(tmp_path, progress_of(12.0), n_noise=2, spread=0.8)
    assert not found["is_frozen"]
    assert found["advice"][0].startswith(f"Take {found['chosen']}: MAP@R")
    scores = found["test"]
    assert scores[found["chosen"]]["map@r"] > scores["raw features"]["map@r"]
    assert any(sentence.startswith("The test classes agree") for sentence in found["advice"])
    assert any(found["chosen"] in note for note in load_model(folder.model).metadata.notes)


def test_all_test_images_are_scored_though_the_time_is_too_short(asked, tmp_path, monkeypatch, own_cache):
    monkeypatch.setattr(recommendation, "choose_trunk", lambda *_: "")
    progress = progress_of(0.1)
    found, _ = recommended(asked, tmp_path, progress)
    assert any("16 test images alone take" in sentence for sentence in progress.sentences)
    assert any(sentence.startswith("On 16 images of 4 test classes") for sentence in found["advice"])


def test_a_network_that_is_named_is_kept_and_without_a_choice_nothing_is_tried(asked, monkeypatch):
    assert pretrained_network.available_trunks()[0] == FIRST
    progress = progress_of(60.0)
    assert choose_trunk(replace(asked, base={**asked.base, "trunk": "resnet50"}), progress, CPU) == ""
    monkeypatch.setattr(pretrained_network, "available_trunks", lambda: [FIRST])
    assert choose_trunk(asked, progress, CPU) == ""
    assert progress.sentences == [
        "The network is resnet50, as you asked.",
        f"The network is {FIRST} with its ImageNet weights; `fairground weights` lists others.",
    ]


@pytest.mark.parametrize(
    ("scores", "chosen", "sentence"),
    [
        ({"a": 0.4, "b": 0.6}, "b", "a 40.00, b 60.00. b is used."),
        ({"a": 0.4, "b": None}, "a", "The network b is left out: it is too slow for the time."),
        ({"a": None, "b": 0.4}, "a", "No time to compare networks (a, b): a is used."),
    ],
)
def test_the_network_that_is_best_on_the_sample_is_used(asked, scores, chosen, sentence, monkeypatch):
    def tried(trunk, *_):
        score = scores[trunk]
        return None if score is None else ({"recall@1": score, "map@r": score}, np.arange(400))

    monkeypatch.setattr(pretrained_network, "try_trunk", tried)
    monkeypatch.setattr(pretrained_network, "available_trunks", lambda: ["a", "b"])
    progress = progress_of(60.0)
    assert choose_trunk(asked, progress, CPU) == chosen
    assert any(sentence in said for said in progress.sentences)


def stages(photographs, leader, *, limit):  # noqa: F811
    base, bench = photographs
    request, progress = Request(title="", kind="photographs", base=base, by="map@r", seed=0), progress_of(limit)
    race = Race(request, progress.budget, lambda *_: pytest.fail("measured"), [], n_folds=2)
    return stages_beyond(leader, race, bench, bench.seen, 1000.0, progress), progress.sentences


def test_with_time_last_stages_come_first_and_the_complete_network_last(photographs):  # noqa: F811
    # three stages is the complete trunk of the test, cut before its first
    found, _ = stages(photographs, SUP_CON, limit=100_000.0)
    assert list(dict.fromkeys(candidate.depth for candidate in found)) == [2, 3, ALL]
    assert all(candidate.depth_steps >= FEWEST_STEPS and candidate.loss == SUP_CON.loss for candidate in found)
    assert len({candidate.label for candidate in found}) == len(found)
    assert photographs[1].n_views(2) == 3


def test_without_time_stages_are_left_out_and_nothing_deeper_is_tried_from_an_untrained_leader(photographs):  # noqa: F811
    found, sentences = stages(photographs, SUP_CON, limit=0.001)
    assert found == []
    assert sentences[-1].startswith("Training the last 2 stages is left out: a step takes")
    assert stages(photographs, plain("frozen"), limit=100_000.0) == ([], [])
