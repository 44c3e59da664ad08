"""Which split and which networks are chosen for which data, and what is refused with which sentence."""

import numpy as np
import pytest
import torch
from PIL import Image

from fairground.errors import FairgroundError, InputError
from fairground.recommendation import networks
from fairground.recommendation.networks import candidates, choose_network, joined_networks
from fairground.recommendation.request import FIRST, Request, make_request
from fairground.recommendation.sealed_classes_and_folds import choose_split
from tests.commands.quick_search import ticking, write_features
from tests.datasets.pictures import class_folders

CPU = torch.device("cpu")


def divided(*sizes, lists_parts=False, has_test_half=False):
    return choose_split(sizes, lists_parts=lists_parts, has_test_half=has_test_half, seed=3)


def asked(root, overrides=None, **changes):
    data = {"data": "folder", "data.root": str(root)}
    return make_request("photos", data, overrides or {}, **{"by": "recall@1", "protocol": None, "seed": 0} | changes)


@pytest.fixture
def photos(tmp_path):
    return class_folders(tmp_path / "photos", [f"class {number}" for number in range(8)], per_class=4)


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        ([40], "all images are of one class.*put each class into its own folder"),
        ([1] * 30, "each of the 30 classes has one image only.*collect two or more"),
        ([5] * 7, "at least 8 classes of two images or more.*The data has 7: add classes"),
        ([5] * 7 + [1] * 50, "The data has 7"),
    ],
)
def test_data_that_cannot_be_divided_is_refused_with_what_to_do(sizes, sentence):
    with pytest.raises(FairgroundError, match=sentence):
        divided(*sizes)


def test_halves_are_drawn_by_the_seed():
    assert divided(*[9] * 8)[0] == {"split": "random_halves", "split.seed": 3}
    assert "half of the classes, drawn by seed 3, are kept for the test" in divided(*[9] * 300)[1]
    assert "the data set's own test half" in divided(*[9] * 300, has_test_half=True)[1]


def test_a_protocol_for_other_data_and_what_is_compared_are_refused(tmp_path, photos):
    with pytest.raises(InputError, match="--protocol for this data is laptop or photographs; got 'features'"):
        asked(photos, protocol="features")
    with pytest.raises(InputError, match="recommend compares methods, so loss cannot be set"):
        asked(photos, {"loss": "triplet"})
    data = {"data": "features", "data.path": str(write_features(tmp_path / "made.npz"))}
    with pytest.raises(InputError, match="--protocol for this data is features; got 'laptop'"):
        make_request("made", data, {}, by="map@r", protocol="laptop", seed=0)


def test_images_without_colour_or_of_few_pixels_may_be_unlike_photographs(photos):
    found = asked(photos)
    assert found.is_drawn == (found.shorter_side <= 64)
    for path in photos.rglob("*.*"):
        Image.fromarray(np.full((90, 120), 7, np.uint8)).save(path)
    gray = asked(photos)
    assert (gray.shorter_side, gray.is_drawn) == (90, True)
    assert gray.new(60).overrides["trunk"] == "folded_conv"
    assert gray.new(3600).overrides == {
        "trunk": "small_conv",
        "data.prepared": 64,
        "transform": "mlrc2020",
        "transform.side": 64,
        "transform.shorter_side": 64,
    }


def test_a_trunk_without_weights_is_trained_from_scratch_and_never_the_baseline(photos):
    for protocol in (None, "laptop"):
        found = asked(photos, {"trunk": "small_conv", "trunk.widths": [8, 8]}, protocol=protocol)
        assert found.sentences[-1] == "small_conv is trained from scratch, and compared with the pretrained network."
        assert (found.protocol, found.first().name) == ("laptop", FIRST)
        assert found.new(60).overrides["trunk.widths"] == [8, 8]
        assert found.new(60).name == "small_conv"
        assert found.identity()["base"]["trunk"] == "small_conv"
    with pytest.raises(InputError, match="tries pretrained networks, and small_conv has no weights: give"):
        asked(photos, {"trunk": "small_conv"}, protocol="photographs")
    found = asked(photos, {"trunk": FIRST})
    assert (found.protocol, found.small, found.first().overrides["trunk.weights"]) == ("", {}, "imagenet")


def request_of(**changes):
    return Request(**{"title": "", "base": {"data": "folder"}, "shorter_side": 300} | changes)


def test_every_side_up_to_224_is_a_candidate_and_the_native_one_below(monkeypatch):
    monkeypatch.setattr(networks, "available_trunks", lambda: [FIRST, "resnet50"])
    names = [one.name for one in candidates(request_of())]
    assert names == [f"{FIRST} at {side} pixels" for side in (224, 160, 128)] + ["resnet50 at 224 pixels"]
    small = candidates(request_of(shorter_side=64))[3]
    assert small.overrides["transform.side"] == 64
    fixed = candidates(request_of(base={"data": "folder", "trunk": "resnet50", "transform.side": 96}))
    assert [one.name for one in fixed] == ["resnet50"]


def test_joined_networks_see_the_images_of_the_chosen_one_unless_the_user_set_a_trunk(monkeypatch):
    monkeypatch.setattr(networks, "available_trunks", lambda: [FIRST, "efficientnet_lite2", "resnet50"])
    chosen = request_of().published("resnet50", 160)
    both = joined_networks(request_of(), chosen).network
    assert both.name == f"{FIRST}+efficientnet_lite2 at 160 pixels"
    assert both.overrides["trunk.networks"] == f"{FIRST}+efficientnet_lite2"
    assert both.overrides["transform.side"] == 160
    assert joined_networks(request_of(protocol="laptop"), chosen) is None
    assert joined_networks(request_of(), request_of(base={"trunk": "resnet50"}).published("", 160)) is None
    monkeypatch.setattr(networks, "available_trunks", lambda: [FIRST, "resnet50"])
    assert joined_networks(request_of(), chosen) is None


@pytest.mark.parametrize(
    ("scores", "seconds", "chosen"),
    [
        ({"128": 0.4, "160": 0.5, "224": 0.6}, 60.0, "224"),
        # The cheaper of two that are as good.
        ({"128": 0.4, "160": 0.598, "224": 0.6}, 60.0, "160"),
        ({"128": 0.7, "160": 0.5, "224": 0.6}, 60.0, "128"),
        # 75 images of which 32 take 0.224 s are too slow for 1 s, those of 160 pixels are not.
        ({"128": 0.4, "160": 0.5, "224": 0.6}, 1.0, "160"),
        ({}, 0.1, "128"),
    ],
)
def test_the_side_that_is_best_on_the_sample_is_used(photos, scores, seconds, chosen, monkeypatch):
    budget = ticking(seconds, tick=0.001)

    class Bench:
        def __init__(self, run, device):
            self.side = str(run.transform.settings["side"])
            self.table = type("table", (), {"labels": np.repeat(np.arange(8), 4), "images": None})
            self.seen, self.n_test = np.arange(32), 32
            self.features = type("features", (), {"evaluate": lambda *_: self.side})

        def embed(self, rows, is_time=None):
            for _ in range(int(self.side)):
                budget.now()
            return rows

    monkeypatch.setattr(networks, "available_trunks", lambda: [FIRST])
    monkeypatch.setattr(networks, "Workbench", Bench)
    monkeypatch.setattr(networks, "view_of_rows", lambda _, side, *__, **___: side)
    found = lambda side, _: type("scores", (), {"scores": dict.fromkeys(("recall@1", "map@r"), scores[side])})  # noqa: E731
    monkeypatch.setattr(networks, "evaluate_in_detail", found)
    said = []
    request = request_of(base={"data": "folder", "data.root": str(photos)})
    network = choose_network(request, budget, CPU, said.append, lambda _: None)
    assert network.name == f"{FIRST} at {chosen} pixels"
    how = "mean of recall@1 and map@r" if scores else "the fastest: all are slow for the time"
    assert said[0].startswith(f"The network is {network.name} ({how}")
