"""Every flaw of MLRC sections 2.1 to 2.3 and of its supplementary page's list, as runs the guard must catch.

Musgrave, Belongie and Lim, "A Metric Learning Reality Check", ECCV 2020. Each example sets the paper's own method
beside a competitor trained as the text says; only the loss may differ.
"""

import pytest

from fairground.comparison.fairness import FairnessResult, compare
from fairground.spec.space import LogReal, Real
from tests.comparison.methods import ON_TEST, method, searched
from tests.comparison.test_flags import raised

GOOGLENET, BN_INCEPTION, RESNET50 = (
    {"trunk__name": name, "trunk__weights": "imagenet"} for name in ("googlenet", "bn_inception", "resnet50")
)
SIMPLE_CROP = {"transform": {"name": "crop", "resize": 256, "crop": 227, "flip": 0.5}}
RESIZED_CROP = {"transform": {"name": "random_resized_crop", "crop": 227, "flip": 0.5}}


def judge(ours: dict, theirs: dict) -> FairnessResult:
    common = {"loss__margin": 0.2}
    return compare(
        {
            "proposed": method(loss="proposed", level=0.4, **common | ours),
            "competitor": method(loss="competitor", level=0.3, **common | theirs),
        },
        metric="map@r",
    )


def rules_of(found: FairnessResult) -> set[str]:
    return {difference.rule for difference in found.differences}


# Section 2.1 and "papers that use a better architecture than their competitors".
@pytest.mark.parametrize(
    ("paper", "ours", "theirs"),
    [
        ("Sampling Matters", RESNET50, GOOGLENET),
        ("Hierarchical Triplet Loss", BN_INCEPTION, GOOGLENET),
        ("Multi-Similarity, against ensembles", BN_INCEPTION, GOOGLENET),
        ("Deep Metric Learning to Rank", RESNET50, BN_INCEPTION),
        ("Divide and Conquer", RESNET50, GOOGLENET),
        ("SoftTriple, against N-pairs and HDC", BN_INCEPTION, GOOGLENET),
        ("Tuplet Margin", RESNET50, BN_INCEPTION),
    ],
)
def test_a_better_architecture(paper, ours, theirs):
    found = judge(ours, theirs)
    assert rules_of(found) == {"trunk"}, paper
    assert found.differences[0].values == {"proposed": ours["trunk__name"], "competitor": theirs["trunk__name"]}
    assert "41.1 (GoogleNet)" in found.differences[0].why


def test_the_same_architecture_from_other_weights():
    assert rules_of(judge(RESNET50, {"trunk__name": "resnet50", "trunk__weights": "none"})) == {"trunk"}


# "papers that use a higher dimensionality than their competitors".
@pytest.mark.parametrize(("ours", "theirs"), [(128, 64), (512, 384), (512, 64), (1536, 64), (512, 128)])
def test_more_dimensions(ours, theirs):
    found = judge({"head__embedding_dim": ours}, {"head__embedding_dim": theirs})
    assert rules_of(found) == {"embedding_dim"}


# "papers that claim to do a simple crop but actually use RandomResizedCrop", and crops of 256 against 227.
def test_stronger_augmentation_than_claimed():
    assert rules_of(judge(RESIZED_CROP, SIMPLE_CROP)) == {"preprocessing"}


@pytest.mark.parametrize("size", [227, 224])
def test_larger_crops(size):
    theirs = {"transform": {"name": "crop", "resize": 256, "crop": size, "flip": 0.5}}
    ours = {"transform": {"name": "crop", "resize": 256, "crop": 256, "flip": 0.5}}
    found = judge(ours, theirs)
    assert [(d.rule, d.what) for d in found.differences] == [("preprocessing", "transform.crop")]


# "papers categorized by the optimizer they use".
@pytest.mark.parametrize(
    ("ours", "theirs"), [("sgd", "adam"), ("rmsprop", "adam"), ("adamw", "sgd"), ("adam", "rmsprop")]
)
def test_another_optimiser(ours, theirs):
    assert rules_of(judge({"optimiser__name": ours}, {"optimiser__name": theirs})) == {"optimiser"}


def test_another_learning_rate_but_the_loss_may_have_its_own():
    assert rules_of(judge({"optimiser__lr": 1e-6}, {"optimiser__lr": 1e-5})) == {"optimiser"}
    assert judge({"optimiser__loss_lr": 6.04e-3}, {"optimiser__loss_lr": None}).is_fair


# "papers that omit details".
def test_frozen_batch_norm_that_the_paper_does_not_mention():
    found = judge({"training__freeze_batch_norm": "stats_and_affine"}, {"training__freeze_batch_norm": "none"})
    assert rules_of(found) == {"batch_norm"}
    assert "2 points on CUB200" in found.differences[0].why


def test_summed_pooling_where_competitors_average():
    assert rules_of(judge({"trunk__pooling": "average_plus_max"}, {"trunk__pooling": "average"})) == {"trunk"}


def test_several_flaws_at_once_are_all_listed():
    found = judge({**RESNET50, **RESIZED_CROP, "head__embedding_dim": 512}, {**GOOGLENET, **SIMPLE_CROP})
    assert rules_of(found) == {"trunk", "preprocessing", "embedding_dim"}


# "papers that do not use confidence intervals".
def test_no_repeats():
    told = raised(proposed=method(loss="proposed", seeds=1, level=0.31), competitor=method(seeds=1))
    assert told["no_repeats"] == "One run only: proposed, competitor."


def test_an_improvement_in_the_low_single_digits_inside_the_noise():
    told = raised(
        claims=(("proposed", "competitor"),),
        proposed=method(loss="proposed", level=0.31, spread=0.02),
        competitor=method(level=0.3, spread=0.02),
    )
    assert "intervals overlap" in told["overlap"]


# Section 2.2.
def test_metrics_that_cannot_tell_embedding_spaces_apart():
    assert "weak_metric" in raised(metric="recall@1", a=method(), b=method(loss="margin"))
    full = raised(metric="map@r", a=method(level=0.995, spread=1e-4), b=method(loss="margin", level=0.996, spread=1e-4))
    assert full["weak_metric"] == "Every method has a map@r of 99 % or more."


def test_embeddings_normalised_for_one_only():
    assert rules_of(judge({"evaluation__normalise": True}, {"evaluation__normalise": False})) == {"evaluation"}


# Section 2.3 and "papers that do not use a validation set".
def test_the_best_test_accuracy_of_training_is_reported():
    told = raised(proposed=method(loss="proposed", fields=ON_TEST), competitor=method(fields=ON_TEST))
    assert told["test_selection"] == "Selected on the test split: proposed, competitor."


def test_a_predetermined_number_of_iterations_without_a_validation_set():
    told = raised(proposed=method(loss="proposed", is_validated=False), competitor=method(is_validated=False))
    assert "nothing shows that the test split did not select" in told["test_selection"]


def test_validated_against_test_selected_share_no_table():
    found = judge({}, {"fields": ON_TEST})
    assert rules_of(found) == {"selection"}


def test_all_classes_trained_on_against_some_held_out():
    assert rules_of(judge({"split__validation": 0.0}, {"split__validation": 0.25})) == {"split"}


# Section 3.3 and the optimal settings of the supplementary page.
def test_fifty_trials_against_a_copied_baseline():
    found = judge({"fields": searched(50)}, {})
    assert rules_of(found) == {"search_budget"}
    assert "less_tuning" in {flag.flag for flag in found.flags}


@pytest.mark.parametrize(
    ("loss", "setting", "value", "searched"),
    [
        ("cos_face", "scale", 100.0, LogReal(low=0.01, high=100.0)),
        ("arc_face", "scale", 100.0, LogReal(low=0.01, high=100.0)),
        ("multi_similarity", "alpha", 0.01, LogReal(low=0.01, high=50.0)),
        ("contrastive", "positive_margin", -0.2, Real(low=-0.2, high=0.3)),
    ],
)
def test_optima_on_a_bound(loss, setting, value, searched):
    ranges = {f"loss.{loss}.{setting}": searched}
    told = raised(ranges=ranges, tuned=method(loss=loss, **{f"loss__{setting}": value}))
    assert f"loss.{setting} = {value:g} is on the" in told["bound"]


def test_larger_batches():
    assert rules_of(judge({"training__batch_size": 256}, {"training__batch_size": 32})) == {"batches"}


def test_the_reality_checks_own_batches_are_fair_and_said():
    found = judge({"sampler__per_class": 1}, {"sampler__per_class": 4})
    assert found.is_fair
    assert {flag.flag for flag in found.flags} == {"per_class"}
