"""Whole recommendations on small data and a clock of the test's own: time, what is handed over, bad images."""

import json
import re

import numpy as np
import pytest

from fairground.commands.load_model import load_model
from fairground.errors import DivergedError
from fairground.recommendation import networks, search
from fairground.recommendation.recommendation import Recommendation, remake_model
from fairground.recommendation.recommendation_folder import RecommendationFolder
from fairground.recommendation.request import Request, make_request
from fairground.recommendation.search import Search
from fairground.recommendation.search_progress import SearchProgress
from fairground.recommendation.time_budget import SHARES
from tests.commands.quick_search import ticking, write_features
from tests.datasets.pictures import class_folders


def progress_of(seconds, *, tick=0.02):
    return SearchProgress(ticking(seconds, tick=tick), is_quiet=True)


def recommended(request, tmp_path, progress):
    folder = RecommendationFolder(tmp_path / "home", {})
    with folder.opened():
        return Recommendation(request, folder, progress.budget, progress).run(), folder


def recommended_of_features(tmp_path, progress, **data):
    features = write_features(tmp_path / "made.npz", **data)
    base = {"data": "features", "data.path": str(features), "split": "random_halves"}
    return recommended(Request(title="made", base=base, by="map@r"), tmp_path, progress)


@pytest.fixture
def photos(tmp_path, own_cache, monkeypatch):
    monkeypatch.setattr(networks, "SIDES", (32,))
    monkeypatch.setattr(networks, "available_trunks", lambda: [networks.FIRST])
    return class_folders(tmp_path / "photographs", [f"class {number}" for number in range(8)], per_class=6)


def request_of(root, **changes):
    data = {"data": "folder", "data.root": str(root)}
    return make_request("photos", data, {}, **{"by": "recall@1", "protocol": "photographs", "seed": 0} | changes)


@pytest.mark.parametrize("tick", [0.1, 0.2])
def test_the_time_is_kept_however_slow_a_step_is(tmp_path, tick):
    progress = progress_of(16.0, tick=tick)
    found, folder = recommended_of_features(tmp_path, progress)
    assert found["n_measurements"] > 3
    assert folder.plan["spent"] <= progress.budget.seconds * (SHARES["final"] + 0.1) + 40 * tick


def test_training_that_does_not_help_hands_over_the_features_as_they_are(tmp_path):
    found, folder = recommended_of_features(tmp_path, progress_of(16.0), spread=0.05)
    assert found["is_frozen"]
    assert found["advice"][0].startswith("Use the raw features as they are")
    with np.load(tmp_path / "made.npz") as arrays:
        given = arrays["features"]
    embedded = load_model(folder.model).embed(str(tmp_path / "made.npz"), quiet=True)
    assert np.allclose(embedded, given / np.linalg.norm(given, axis=1, keepdims=True), atol=1e-5)


def test_training_that_helps_is_handed_over_and_the_test_classes_agree(tmp_path):
    found, folder = recommended_of_features(tmp_path, progress_of(12.0), n_noise=2, spread=0.8)
    assert not found["is_frozen"]
    assert found["advice"][0].startswith(f"Use the {found['title']}: on the 6 classes kept for the test")
    scores = found["test"]
    assert scores[found["chosen"]]["map@r"] > scores["raw features"]["map@r"]
    assert any(sentence.startswith("The test classes agree") for sentence in found["advice"])
    assert load_model(folder.model).metadata.notes


def test_more_time_that_is_short_leaves_a_longer_training_as_it_is(tmp_path):
    first, folder = recommended_of_features(tmp_path, progress_of(12.0), n_noise=8, spread=0.8)
    assert first["steps"] > 0
    again, folder_again = recommended_of_features(tmp_path, progress_of(0.5), n_noise=8, spread=0.8)
    assert again == first
    assert folder_again.plan["weights_sha256"] == folder.plan["weights_sha256"]
    assert folder_again.plan["n_openings"] == 1
    longer, folder_last = recommended_of_features(tmp_path, progress_of(60.0), n_noise=8, spread=0.8)
    assert folder_last.plan["n_openings"] == 2
    assert longer["chosen"] != first["chosen"] or longer["steps"] >= first["steps"]


def test_a_network_is_trained_on_all_seen_classes_at_least_as_long_and_made_again(photos, tmp_path, monkeypatch):
    monkeypatch.setattr("fairground.recommendation.search.Search.chosen", lambda self: self.best("network"))
    progress = progress_of(20.0, tick=0.1)
    found, folder = recommended(request_of(photos), tmp_path, progress)
    assert found["title"].startswith("fine-tuned last stages (")
    plan = json.loads((folder.path / "plan.json").read_text())
    validated = int(re.search(r"(\d+) steps", found["chosen"])[1])
    assert 8 <= validated <= plan["adaptation"]["steps"] == found["steps"]
    assert len(plan["rows"]) == 24
    assert len(set(remake_model(folder.path / "plan.json"))) == 1
    assert len(load_model(folder.model).embed(str(photos), quiet=True)) == 48


def test_joined_networks_are_handed_over_made_again_and_embed(photos, tmp_path, monkeypatch):
    monkeypatch.setattr(networks, "available_trunks", lambda: ["efficientnet_lite0", "efficientnet_lite1"])
    monkeypatch.setattr(Search, "replaces", lambda _, a, b: a.network != b.network)
    monkeypatch.setattr(Search, "rank", lambda _, method, folds=None: len(method.network.name))
    # A discriminant of 2,560 features takes seconds.
    monkeypatch.setattr(search, "DISCRIMINANTS", ())
    monkeypatch.setattr(search, "closed_forms", lambda frozen, *_: [frozen])
    monkeypatch.setattr(search, "trained_heads", lambda *_: [])
    monkeypatch.setattr("fairground.recommendation.recommendation.trained_networks", lambda *_: [])
    found, folder = recommended(request_of(photos), tmp_path, progress_of(60.0))
    assert found["title"] == "joined networks"
    assert found["chosen"] == "joined networks, efficientnet_lite0+efficientnet_lite1 at 32 pixels"
    assert len(found["test"]) == 2
    assert len(set(remake_model(folder.path / "plan.json"))) == 1
    embedded = load_model(folder.model).embed(str(photos), quiet=True)
    assert embedded.shape == (48, 2 * 1280)


def test_all_test_images_are_scored_though_the_time_is_too_short(photos, tmp_path):
    progress = progress_of(0.05)
    found, _ = recommended(request_of(photos), tmp_path, progress)
    assert any("24 test images alone take" in sentence for sentence in progress.sentences)
    assert any(sentence.startswith("The test is 24 images of 4 classes") for sentence in found["advice"])


def test_images_that_cannot_be_read_are_left_out(photos, tmp_path):
    for share, path in enumerate(sorted(photos.rglob("*.*"))[::16]):
        # Of the first nothing is left.
        path.write_bytes(path.read_bytes()[: share * path.stat().st_size // 3])
    progress = progress_of(1.0)
    found, _ = recommended(request_of(photos), tmp_path, progress)
    assert any("Images are decoded each time they are needed" in sentence for sentence in progress.sentences)
    said = " ".join((*progress.sentences, *found["advice"]))
    n_seen, n_test = (
        int(n[1]) if (n := re.search(what, said)) else 0
        for what in (r"(\d+) cannot be read", r"The test is (\d+) of 24")
    )
    assert n_seen + (24 - n_test if n_test else 0) == 3


def test_gray_images_have_a_small_network_from_scratch_among_their_candidates(photos, tmp_path, monkeypatch):
    tried = []
    monkeypatch.setattr("fairground.recommendation.search.Search.run", lambda _, __, portfolio: tried.extend(portfolio))
    request = request_of(photos, protocol=None)
    assert request.is_drawn
    recommended(request, tmp_path, progress_of(60.0))
    assert [one.network.is_new for one in tried[:4]] == [False, True, True, False]


@pytest.mark.parametrize("tick", [0.02, 5.0])
def test_without_time_a_pretrained_network_is_handed_over_and_what_it_is_compared_with_is_measured(
    photos, tmp_path, tick
):
    found, folder = recommended(request_of(photos, protocol="laptop"), tmp_path, progress_of(0.05, tick=tick))
    assert found["title"].startswith("frozen network")
    measured = [json.loads(line) for line in (folder.path / "measurements.jsonl").read_text().splitlines()]
    labels = [one["method"].rpartition(", ")[2] for one in measured]
    assert labels == 2 * [labels[0]] + 2 * ["PLDA 0.7/2"]
    assert labels[0].startswith(networks.FIRST)
    assert not any("no time to measure" in sentence for sentence in found["advice"])


def test_a_training_that_diverges_in_the_end_is_replaced_by_the_best_closed_form(tmp_path, monkeypatch):
    def diverged(self, method):
        if method.trains != "nothing":
            raise DivergedError("the loss is not finite")
        return trained(self, method)

    trained = Recommendation._train_on_all
    monkeypatch.setattr(Recommendation, "_train_on_all", diverged)
    monkeypatch.setattr("fairground.recommendation.search.Search.chosen", lambda self: self.best("head"))
    progress = progress_of(12.0)
    found, _ = recommended_of_features(tmp_path, progress, n_noise=2, spread=0.8)
    assert found["title"].startswith("raw features")
    assert found["test"][found["chosen"]]
    assert any("diverged: the loss is not finite" in sentence for sentence in progress.sentences)
