"""Which split and protocol are chosen for which data, and what is refused with which sentence."""

import pytest

from fairground.errors import FairgroundError, InputError
from fairground.recommend.protocol_choice import choose_protocol, choose_split


def divided(*sizes, lists_parts=False, has_test_half=False):
    return choose_split(sizes, lists_parts=lists_parts, has_test_half=has_test_half)


def chosen(**changes):
    usual = {"is_picture": True, "width": 3, "shorter_side": 256, "is_one_size": False}
    rest = {"train_images": 3000, "train_classes": 100, "worker_seconds": 3600}
    return choose_protocol(**(usual | rest | changes))


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


def test_few_classes_give_a_larger_share_to_validation():
    assert divided(*[9] * 8).words == ("split=half_classes", "split.validation=0.4")
    assert divided(*[9] * 300).words == ("split=half_classes", "split.validation=0.4")
    assert divided(*[9] * 600).words == ("split=half_classes", "split.validation=0.2")
    assert "No class is in two parts: half of the classes tests" in divided(*[9] * 300).sentence
    assert "the data set's own test half" in divided(*[9] * 300, has_test_half=True).sentence


def test_a_list_of_parts_is_kept():
    assert divided(5, 5, 5, lists_parts=True).words == ("split=listed",)


def test_features_get_a_head_small_images_a_small_network_photographs_a_pretrained_one():
    assert chosen(is_picture=False, width=512).field == "recommend/features"
    assert chosen(shorter_side=32, is_one_size=True).field == "recommend/laptop"
    assert chosen().field == "recommend/photographs"
    assert "EfficientNet-Lite0" in chosen().sentence


def test_little_time_takes_a_very_small_network_and_says_so():
    short, long = (chosen(shorter_side=32, is_one_size=True, worker_seconds=seconds) for seconds in (600, 3600))
    assert short.words == ("trunk=folded_conv",)
    assert long.words == ()
    assert "a very small network" in short.sentence


def test_small_images_of_many_sizes_are_cut_to_one():
    assert chosen(shorter_side=40).words == ("transform=mlrc2020", "transform.side=32")


def test_a_batch_holds_no_more_classes_than_there_are_and_a_head_fewer_axes_than_images():
    assert chosen(train_images=108, train_classes=6).words == (
        "head=pca",
        "head.standardise=false",
        "head.embedding_dim=64",
        "training.batch_size=24",
    )
    assert "head.embedding_dim=40" in chosen(is_picture=False, width=40).words


def test_the_user_may_choose_between_the_two_for_images():
    assert chosen(protocol="laptop").field == "recommend/laptop"
    assert chosen(shorter_side=32, protocol="photographs").field == "recommend/photographs"
    with pytest.raises(InputError, match="--protocol for this data is laptop or photographs; got 'features'"):
        chosen(protocol="features")
