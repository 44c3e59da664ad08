"""Which split and protocol are chosen for which data, and what is refused with which sentence."""

import pytest

from fairground.errors import FairgroundError, InputError
from fairground.recommendation.candidates import frozen_candidates, head_candidates
from fairground.recommendation.choose_protocol import choose_protocol, choose_split
from fairground.spec.load_study_spec import load_study


def divided(*sizes, lists_parts=False, has_test_half=False):
    return choose_split(sizes, lists_parts=lists_parts, has_test_half=has_test_half, seed=3)


def chosen(**changes):
    usual = {"is_picture": True, "width": 3, "shorter_side": 256, "is_one_size": False, "seconds": 3600}
    return choose_protocol(**(usual | changes))


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
    assert "half of the classes, drawn by seed 3, tests" in divided(*[9] * 300)[1]
    assert "the data set's own test half" in divided(*[9] * 300, has_test_half=True)[1]


@pytest.mark.parametrize(
    ("data", "kind", "sentence"),
    [
        ({"is_picture": False, "width": 512}, "features", "features of 512 numbers: as they are, with discriminants"),
        ({"shorter_side": 32}, "laptop", "a small network is trained from scratch (small_conv)"),
        ({"shorter_side": 32, "seconds": 60}, "laptop", "so that many trainings fit the time, is trained from scratch"),
        ({}, "photographs", "Photographs of about 256 pixels: a pretrained network embeds each once"),
        ({"protocol": "laptop"}, "laptop", "Images of about 256 pixels"),
        ({"shorter_side": 32, "protocol": "photographs"}, "photographs", "Photographs of about 32 pixels"),
    ],
)
def test_the_data_chooses_the_protocol_and_for_images_the_user_may(data, kind, sentence):
    found = chosen(**data)
    assert found[0] == kind
    assert sentence in found[2]


def test_a_protocol_for_other_data_is_refused():
    with pytest.raises(InputError, match="--protocol for this data is laptop or photographs; got 'features'"):
        chosen(protocol="features")


def test_small_images_of_many_sizes_are_cut_to_one():
    found = chosen(shorter_side=40)[1]
    assert (found["transform"], found["transform.side"]) == ("mlrc2020", 32)


def test_the_frozen_network_comes_first_and_axes_are_fewer_than_images():
    found = frozen_candidates(1280, 90, name="frozen network")
    assert found[0].label == "frozen network"
    assert [one.label for one in found[1:3]] == ["PLDA 0.7/2", "PLDA 0.5/1"]
    plain = {one.label for one in found if not one.label.startswith("PLDA")}
    assert plain == {f"frozen network{end}" for end in ("", ", PCA 64", ", half whitened 64", ", whitened 64")}
    assert not any(one.is_trained for one in found)


def test_there_are_hundreds_of_heads_and_every_one_can_be_made():
    methods = load_study("recommend/features-settings").methods
    found = head_candidates(methods, 1280, 300)
    assert len(found) > 200
    assert len({one.label for one in found}) == len(found)
    base = {"data.path": "x.npz"}
    for one in found[:: len(found) // 12]:
        spec = one.spec("features", base, 5)
        assert spec.run.seed == 5
        assert spec.run.optimiser.lr == spec.run.optimiser.head_lr == one.rate
        assert spec.steps == 30
