"""Values of every loss on the fixtures, to nine digits, and the settings that own up to a bug of published code."""

import re

import pytest

from tests.losses.fixtures import F8, F8B, T8B, X, build, on_fixture

BATCHES = {"F8": (F8,), "F8B": (F8B,), "T8B": (F8B, T8B)}
DEGREES = {"margin": 28.6, "margin_unit": "degrees"}
RADIANS = {"margin": 0.5, "scale": 16}
ROTH_ANGULAR = {"npair_weight": 1.0, "angular_weight": 2.0, "norm_weight": 0.005, "positives": "one_random"}
ROTH_TRIPLE = {"n_centres": 2, "scale": 8, "gamma": 0.1, "margin": 0.01, "reg_weight": 0.2}
CASES = [
    ("angular", {}, "F8", 4.119444486),
    ("angular", {}, "F8B", 4.393495529),
    ("angular", ROTH_ANGULAR, "F8B", 10.658949741),
    ("arc_face", {**DEGREES, "scale": 64}, "F8", 48.753212347),
    ("arc_face", RADIANS, "F8", 12.231644689),
    ("arc_face", {**RADIANS, "fallback": False}, "F8", 12.231644689),
    ("arc_face", RADIANS, "F8B", 8.870034277),
    ("arc_face", {**RADIANS, "fallback": False, "clamp_min": 1e-10}, "F8B", 7.775176908),
    ("arc_face", {**RADIANS, "roth_icml_no_margin": True}, "F8B", 3.920310380),
    ("circle", {}, "F8", 145.617179240),
    ("contrastive", {}, "F8", 1.700367437),
    ("contrastive", {"positive_margin": 0.2652, "negative_margin": 0.5409}, "F8", 1.246648966),
    ("contrastive", {}, "F8B", 1.503586794),
    ("contrastive", {"reduction": "mean_all"}, "T8B", 1.157360915),
    ("cos_face", {}, "F8", 43.725083245),
    ("cross_batch_memory", {}, "F8", 1.700367437),
    ("cross_batch_memory", {"loss": "triplet", "settings": {"margin": 0.2}}, "F8", 0.619694998),
    ("fast_ap", {"bins": 10}, "F8", 0.707415039),
    ("fast_ap", {"bins": 10}, "F8B", 0.700298569),
    ("generalised_lifted_structure", {"normalise": True}, "F8", 3.118791483),
    ("generalised_lifted_structure", {}, "F8", 3.303738176),
    ("generalised_lifted_structure", {}, "F8B", 2.712005869),
    ("generalised_lifted_structure", {"norm_weight": 0.005}, "F8B", 2.719382885),
    ("histogram", {}, "F8", 0.453738548),
    ("histogram", {"nodes": 11}, "F8", 0.507230799),
    ("histogram", {}, "F8B", 0.318632011),
    ("histogram", {"nodes": 11}, "F8B", 0.343877611),
    ("histogram", {"roth_code": True}, "F8B", 0.318632011),
    ("histogram", {"nodes": 11, "roth_code": True}, "F8B", 0.070652070),
    ("lifted_structure", {}, "F8", 6.281283710),
    ("margin", {}, "F8", 0.462355507),
    ("margin", {"count": "tuples"}, "F8", 0.669943694),
    ("margin", {"beta": 0.6}, "F8", 0.873226256),
    ("margin", {}, "F8B", 0.325335679),
    ("margin", {"count": "tuples"}, "F8B", 0.444360928),
    ("margin", {"beta": 0.6}, "F8B", 0.713531325),
    ("margin", {}, "T8B", 0.257409168),
    ("margin", {"count": "tuples"}, "T8B", 0.343212223),
    ("multi_similarity", {}, "F8", 1.032236656),
    ("multi_similarity", {"epsilon": 0.1}, "F8", 0.985514866),
    ("multi_similarity", {"epsilon": 0.1, "empty": "survivors"}, "F8", 1.126302704),
    ("multi_similarity", {"epsilon": 0.1, "empty": "batch"}, "F8", 0.985514866),
    ("multi_similarity", {"epsilon": 0.1, "empty": "survivors"}, "F8B", 0.781515960),
    ("n_pair", {"positives": "one_per_class", "normalise": True}, "F8", 0.940585562),
    ("n_pair", {"positives": "one_per_class"}, "F8", 0.850082457),
    ("n_pair", {}, "F8", 2.546152745),
    ("n_pair", {"normalise": True}, "F8", 1.958860322),
    ("n_pair", {}, "F8B", 1.864581668),
    ("n_pair", {"positives": "one_random", "norm_weight": 0.005}, "F8B", 1.871958683),
    ("nca", {}, "F8", 1.796189594),
    ("normalised_softmax", {}, "F8", 8.485603170),
    ("normalised_softmax", {}, "F8B", 7.111872394),
    ("nt_xent", {"temperature": 0.1}, "F8", 8.217651976),
    ("nt_xent", {"temperature": 0.1}, "F8B", 5.113895977),
    ("proxy_anchor", {}, "F8", 33.389208482),
    ("proxy_nca", {"scale": 9}, "F8", 7.646044173),
    ("proxy_nca", {"scale": 9, "positive_in_denominator": False}, "F8", 4.959406243),
    ("proxy_nca", {"scale": 9, "positive_in_denominator": False}, "F8B", 1.615110558),
    ("proxy_nca_pp", {}, "F8", 7.646044173),
    # Means over all tuples, as Roth et al. take them.
    ("quadruplet", {}, "F8B", 1.077631775),
    ("quadruplet", {"second_margin": -2}, "F8B", 0.733424856),
    ("snr", {}, "F8", 2.528093856),
    ("snr", {"zero_mean_weight": 1.0}, "F8", 2.528093856 + 0.467565591),
    ("snr", {"form": "triplet"}, "F8B", 0.899984866),
    ("snr", {"form": "triplet"}, "T8B", 0.394957115),
    ("snr", {"form": "triplet", "zero_mean_weight": 0.005}, "T8B", 0.397294943),
    ("soft_triple", ROTH_TRIPLE, "F8", 3.000034243),
    ("soft_triple", {**ROTH_TRIPLE, "reg_weight": 0}, "F8", 2.879254423),
    ("soft_triple", {**ROTH_TRIPLE, "reg_divisor": "pairs"}, "F8", 2.879254423 + 0.2 * 1.207798202),
    ("soft_triple", ROTH_TRIPLE, "F8B", 3.701021735),
    ("soft_triple", {**ROTH_TRIPLE, "reg_weight": 0}, "F8B", 3.580241915),
    ("soft_triple", {**ROTH_TRIPLE, "roth_code": True}, "F8B", 1.958234604),
    ("sphere_face", {"margin": 4, "cosine_weight": 0}, "F8", 4.185675311),
    ("sub_centre_arc_face", {**DEGREES, "n_centres": 1}, "F8", 48.753212347),
    ("sup_con", {"temperature": 0.1}, "F8", 7.370273434),
    ("sup_con", {"temperature": 0.1}, "F8B", 5.113895977),
    ("triplet", {"margin": 0.2}, "F8", 0.619694998),
    ("triplet", {"margin": 0.2, "power": 2}, "F8", 1.259717285),
    ("triplet", {"margin": 0.2}, "F8B", 0.488282968),
    ("triplet", {"margin": 0.2, "power": 2}, "F8B", 0.892374439),
    ("triplet", {"margin": 0.2, "reduction": "mean_all"}, "T8B", 0.082858603),
    ("triplet", {"margin": 0.2, "power": 2, "reduction": "mean_all"}, "T8B", 0.119827840),
    ("tuplet_margin", {}, "F8", 46.779231898),
]


@pytest.mark.parametrize(("name", "settings", "batch", "value"), CASES)
def test_value_on_the_fixture(name, settings, batch, value):
    assert on_fixture(name, **settings)(X, *BATCHES[batch]).item() == pytest.approx(value, abs=1e-9)


def test_values_known_to_four_digits():
    for settings, value in (({}, 0.7815), ({"self_positive_bug": True}, 0.8347)):
        loss = on_fixture("multi_similarity", epsilon=0.4, **settings)
        assert loss(X, F8B).item() == pytest.approx(value, abs=5e-5)


@pytest.mark.parametrize(
    ("name", "settings", "bug"),
    [
        ("arc_face", {"roth_icml_no_margin": True}, "E11.*below 1e-10"),
        # For 11 nodes the upper node goes missing in the six intervals between -0.6 and 0.6.
        ("histogram", {"nodes": 11, "roth_code": True}, "drops the upper node in 6 of 10 intervals"),
        ("histogram", {"roth_code": True}, "drops the upper node in 0 of 64 intervals"),
        ("margin", {"count": "tuples"}, "E16"),
        ("multi_similarity", {"epsilon": 0.4, "self_positive_bug": True}, "its own positive"),
        ("nt_xent", {"log_floor": 1e-20}, "log_floor = 1e-20"),
        ("quadruplet", {"fourth": "roth_code"}, "E23"),
        ("hierarchical_ap", {"query_in_ranking": True}, "a hit that is none"),
        ("recall_at_k", {"query_in_ranking": True}, "one too high"),
        ("smooth_ap", {"query_in_ranking": True}, "a hit that is none"),
        ("soft_triple", {"roth_code": True}, "E30"),
        ("unified_cross_entropy", {"clamp_exponents": True}, "the hardest samples have no gradient"),
    ],
)
def test_a_switch_that_reproduces_a_bug_says_so(name, settings, bug):
    assert re.search(bug, " ".join(build(name, **settings).known_bugs()))
    assert build(name).known_bugs() == ()
