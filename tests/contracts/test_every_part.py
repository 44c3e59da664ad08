"""What every part owes to its reader, and the one table of settings refused; that of the losses is with their tests."""

import inspect
import re
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from fairground.contracts.trunk_head_transform import IMAGENET
from fairground.errors import DataError, InputError
from fairground.spec.catalogue import class_name, find, list_room
from tests.losses.fixtures import build
from tests.samplers.splits import even_split, uneven_split

ROOMS = ("losses", "miners", "regularisers", "samplers", "heads", "trunks", "metrics", "analysis")
PARTS = [(room, name) for room in ROOMS for name in list_room(room)]


@pytest.mark.parametrize(("room", "name"), PARTS)
def test_says_what_it_is_and_takes_its_settings_by_name(room, name):
    kind = find(room, name)
    for heading in ("\nFormula\n", "\nPaper\n", "\nDepartures from the paper\n"):
        assert heading in inspect.getmodule(kind).__doc__
    assert kind.__name__ == class_name(room, name)
    settings = inspect.signature(kind).parameters
    assert all(setting.kind is setting.KEYWORD_ONLY for setting in settings.values())
    assert set(getattr(kind, "tunable", ())) <= set(settings)
    assert getattr(kind, "argument", None) in (None, *settings)


@pytest.mark.parametrize("name", list_room("losses"))
def test_a_value_that_a_literal_setting_does_not_list_is_refused(name):
    for setting, hint in get_type_hints(find("losses", name).__init__).items():
        if get_origin(hint) is Literal:
            *others, last = map(repr, get_args(hint))
            with pytest.raises(InputError, match=f"{name}.{setting} must be {', '.join(others)} or {last}; got 'x'"):
                build(name, **{setting: "x"})


LABELS = even_split(n_classes=30, size=12)
FEW = even_split(n_classes=4, size=5)
GROUPED = {"labels": even_split(n_classes=24, size=6), "batch_size": 16}
SUPERS = GROUPED["labels"] // 6
SPLIT = {"labels": LABELS, "batch_size": 40}
RGB = {"preprocessing": IMAGENET}
OUT_OF_RANGE = [
    ("datasets", "synthetic", {}, {"n_classes": 1, "per_class": 0, "size": 3, "channels": 0, "noise": -0.1}),
    ("datasets", "synthetic", {"n_classes": 5}, {"lone_classes": 3, "imbalance": 0.5, "shift": -1}),
    ("datasets", "toy_spaces", {}, {"space": "rings", "per_class": 3}),
    ("datasets", "toy_lines", {}, {"lines": "round", "per_class": 101}),
    ("heads", "mlp", {"n_features": 3}, {"hidden": [512, 0], "activation": "swish"}),
    ("miners", "all_hard", {}, {"margin": 3, "per_anchor_cap": -1}),
    ("miners", "all_semihard", {}, {"margin": -0.1, "per_anchor_cap": 0}),
    ("miners", "distance_weighted", {}, {"lo": 0, "hi": 0.4, "per_anchor": 0, "per_anchor_cap": 0}),
    ("miners", "distance_weighted", {}, {"per_anchor": "all"}),
    ("miners", "easy_positive", {}, {"negative": "easy"}),
    ("miners", "multi_similarity", {}, {"epsilon": 3, "per_anchor_cap": 0}),
    ("miners", "rho_distance", {}, {"p_switch": 1.5, "lo": 2, "hi": 0.5}),
    ("miners", "semihard", {}, {"margin": 2.5}),
    ("regularisers", "embedding_norm", {}, {"weight": -1, "power": 3}),
    ("regularisers", "manifold_mixup", {}, {"alpha": 0, "deepest": -1}),
    ("regularisers", "soft_triple_centres", {}, {"weight": -1, "divisor": "both"}),
    ("regularisers", "threshold_consistent_margin", {}, {"positive_margin": 2, "negative_margin": -2}),
    ("regularisers", "threshold_consistent_margin", {}, {"positive_weight": -1, "negative_weight": -1}),
    ("regularisers", "zero_mean", {}, {"weight": -1}),
    ("samplers", "d2_coreset", SPLIT, {"spread": -1.0}),
    ("samplers", "distance_distribution", SPLIT, {"candidates": 0, "bins": 1, "cost": "emd", "pool": 39}),
    ("samplers", "frechet", SPLIT, {"candidates": 0}),
    ("samplers", "greedy_coreset", SPLIT, {"mine": "step", "momentum": 1.0, "projection": -1, "memory_limit": -1.0}),
    ("samplers", "greedy_coreset", {"labels": FEW, "batch_size": 8}, {"pool": 4, "per_class": 3}),
    ("samplers", "hierarchical", {**GROUPED, "super_labels": SUPERS}, {"super_per_batch": 3}),
    ("samplers", "m_per_class", {**SPLIT, "straddle": True}, {"list_length": 31, "per_class": 0}),
    ("samplers", "per_class", SPLIT, {"per_class": 7}),
    ("samplers", "per_class_random", SPLIT, {"uniform_over": "images"}),
    ("metrics", "acg", {}, {"k": 0}),
    ("metrics", "recall", {}, {"k": 0}),
    ("metrics", "precision", {}, {"k": 1.5}),
    ("metrics", "map", {}, {"limit": 0, "divisor": "R"}),
    ("metrics", "ndcg", {}, {"k": -1}),
    ("metrics", "opis", {}, {"n_thresholds": 0}),
    ("transforms", "roth2020", RGB, {"variant": "huge", "side": 300}),
    ("transforms", "mlrc2020", RGB, {"smallest_area": 0, "narrowest": 2, "flip": 2}),
    ("transforms", "plain", RGB, {"shorter_side": 0}),
    ("transforms", "photographs", RGB, {"hue": 0.7, "gray": -1, "contrast": -1, "smallest_area": 2}),
    ("splits", "class_folds", {}, {"fold": 4}),
    ("splits", "closed_set", {}, {"test": 0}),
    ("splits", "half_classes", {}, {"validation": float("nan")}),
    ("splits", "random_halves", {}, {"validation": 1.0}),
    ("splits", "roth_validation", {}, {"train": 1}),
]
REFUSED = [
    *(
        (room, name, {**given, setting: value}, rf"({name}|sampler)\.{setting} must .*got {re.escape(repr(value))}")
        for room, name, given, settings in OUT_OF_RANGE
        for setting, value in settings.items()
    ),
    ("samplers", "d2_coreset", {**SPLIT, "batch_size": 500, "per_class": 1}, "picks 500 images per batch; .* has 360"),
    ("samplers", "distance_distribution", {**SPLIT, "batch_size": 1, "per_class": 1}, "a batch of 1 has no distances"),
    ("samplers", "distance_distribution", {**SPLIT, "batch_size": 112, "per_class": 2}, "56 different classes; .* 30"),
    ("samplers", "frechet", {**SPLIT, "batch_size": 1, "per_class": 1}, "a batch of 1 has no covariance"),
    ("samplers", "frechet", {**SPLIT, "batch_size": 112, "per_class": 2}, "needs 56 different classes; .* 30"),
    ("samplers", "greedy_coreset", {"labels": FEW, "batch_size": 128}, "picks 32 images per batch; .* split has 20"),
    ("samplers", "greedy_coreset", {"labels": FEW[:1], "batch_size": 1, "per_class": 1}, "needs at least two images"),
    ("samplers", "hierarchical", {**GROUPED, "super_labels": None}, "needs super-classes, and the data set has none"),
    ("samplers", "hierarchical", {**GROUPED, "super_labels": SUPERS[:3]}, "per image; got 3 for 144 images"),
    ("samplers", "hierarchical", {**GROUPED, "super_labels": torch.arange(144) % 2}, "in another super-class than"),
    (
        "samplers",
        "hierarchical",
        {**GROUPED, "super_labels": SUPERS, "per_class": 2, "super_per_batch": 8},
        "must be at most the number of super-classes, 4; got 8",
    ),
    ("samplers", "m_per_class", {**SPLIT, "batch_size": 256}, "needs 64 different classes"),
    ("samplers", "per_class", {**SPLIT, "batch_size": 0}, "the batch size must be at least 1; got 0"),
    ("samplers", "per_class", {**SPLIT, "batch_size": 128}, r"sampler\.per_class = 4 needs 32 different classes; .*30"),
    ("samplers", "per_class_random", {**SPLIT, "batch_size": 1}, "at least 2, for a pair; got 1"),
    ("samplers", "per_class_random", {"labels": FEW, "batch_size": 32}, "needs 31 different images; .*20"),
    ("samplers", "uniform", {"labels": FEW, "batch_size": 64}, "a batch of 64 different images needs as many; .*20"),
    ("samplers", "balanced", {"labels": uneven_split(), "batch_size": 64}, "needs 16 different classes; .* has 10"),
    ("metrics", "opis", {"low_far": 0.2}, r"opis.high_far must be in \(0, 1\), .*; got 0.2 and 0.1"),
    ("metrics", "opis", {"low_far": 0.0}, r"opis.low_far and .* must be in \(0, 1\), .*; got 0.0 and 0.1"),
    ("transforms", "photographs", {**RGB, "widest": 0.1}, "photographs.narrowest must be in"),
    ("splits", "closed_set", {"validation": 0.5, "test": 0.5}, r"so that something trains; got 0.5 \+ 0.5"),
]


@pytest.mark.parametrize(("room", "name", "settings", "complaint"), REFUSED)
def test_a_setting_out_of_range_is_refused(room, name, settings, complaint):
    with pytest.raises((InputError, DataError), match=complaint):
        find(room, name)(**settings)
