"""What every part owes to its reader, and the one table of settings refused; that of the losses is with their tests."""

import inspect
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
REFUSED = [
    ("datasets", "synthetic", {"n_classes": 1}, "synthetic.n_classes must be 2 or more, one for each half; got 1"),
    ("datasets", "synthetic", {"per_class": 0}, "synthetic.per_class must be 1 or more; got 0"),
    ("datasets", "synthetic", {"size": 3}, "synthetic.size must be 4 or more, so that a pattern fits; got 3"),
    ("datasets", "synthetic", {"channels": 0}, "synthetic.channels must be 1 or more; got 0"),
    ("datasets", "synthetic", {"noise": -0.1}, "synthetic.noise must be 0 or more; got -0.1"),
    ("datasets", "synthetic", {"shift": -1}, "synthetic.shift must be 0 or more; got -1"),
    ("datasets", "synthetic", {"imbalance": 0.5}, r"synthetic.imbalance must be 1 \(equal classes\) or more; got 0.5"),
    ("datasets", "synthetic", {"n_classes": 5, "lone_classes": 3}, "synthetic.lone_classes must be in 0..2, .* got 3"),
    ("heads", "mlp", {"n_features": 3, "hidden": (512, 0)}, r"mlp\.hidden must be whole numbers in \[1, 65536\].*got"),
    ("heads", "mlp", {"n_features": 3, "activation": "swish"}, r"mlp\.activation must be one of relu, .*got 'swish'"),
    ("miners", "all_hard", {"margin": 3}, r"all_hard.margin must be in \[-2, 2\].*got 3"),
    ("miners", "all_hard", {"per_anchor_cap": -1}, r"all_hard.per_anchor_cap must be at least 1.*got -1"),
    ("miners", "all_semihard", {"margin": -0.1}, r"all_semihard.margin must be in \[0, 2\]; got -0.1"),
    ("miners", "all_semihard", {"per_anchor_cap": 0}, r"all_semihard.per_anchor_cap must be at least 1.*got 0"),
    ("miners", "distance_weighted", {"lo": 0}, r"distance_weighted.lo must be in \(0, 2\).*got 0"),
    ("miners", "distance_weighted", {"hi": 0.4}, r"distance_weighted.hi must be above lo = 0.5.*got 0.4"),
    ("miners", "distance_weighted", {"per_anchor": "all"}, "at least 1, or 'class_count'; got 'all'"),
    ("miners", "distance_weighted", {"per_anchor": 0}, "per_anchor must be at least 1, or 'class_count'; got 0"),
    ("miners", "distance_weighted", {"per_anchor_cap": 0}, "per_anchor_cap must be at least 1.*got 0"),
    ("miners", "easy_positive", {"negative": "easy"}, "negative must be 'semihard' or 'hard'; got 'easy'"),
    ("miners", "multi_similarity", {"epsilon": 3}, r"multi_similarity.epsilon must be in \[-2, 2\].*got 3"),
    ("miners", "multi_similarity", {"per_anchor_cap": 0}, r"multi_similarity.per_anchor_cap must be at least 1.*got 0"),
    ("miners", "rho_distance", {"p_switch": 1.5}, r"rho_distance.p_switch must be in \[0, 1\].*got 1.5"),
    ("miners", "rho_distance", {"lo": 2}, r"rho_distance.lo must be in \(0, 2\).*got 2"),
    ("miners", "rho_distance", {"hi": 0.5}, r"rho_distance.hi must be above lo = 0.5.*got 0.5"),
    ("miners", "semihard", {"margin": 2.5}, r"semihard.margin must be in \[0, 2\]; got 2.5"),
    ("regularisers", "embedding_norm", {"weight": -1}, r"embedding_norm.weight must be 0 or more; got -1"),
    ("regularisers", "embedding_norm", {"power": 3}, r"embedding_norm.power must be 1 or 2; got 3"),
    ("regularisers", "manifold_mixup", {"alpha": 0}, r"manifold_mixup.alpha must be above 0; got 0"),
    ("regularisers", "manifold_mixup", {"deepest": -1}, r"manifold_mixup.deepest must be 0 or more.*got -1"),
    ("regularisers", "soft_triple_centres", {"weight": -1}, r"soft_triple_centres.weight must be 0 or more; got -1"),
    ("regularisers", "soft_triple_centres", {"divisor": "both"}, "divisor must be 'ckk' or 'pairs'; got 'both'"),
    ("regularisers", "zero_mean", {"weight": -1}, r"zero_mean.weight must be 0 or more; got -1"),
    ("samplers", "d2_coreset", {**SPLIT, "spread": -1.0}, r"sampler\.spread must be 0 or more; got -1\.0"),
    (
        "samplers",
        "d2_coreset",
        {**SPLIT, "batch_size": 500, "per_class": 1},
        "picks 500 images per batch; the training split has 360",
    ),
    ("samplers", "distance_distribution", {**SPLIT, "candidates": 0}, r"sampler\.candidates must be at least 1; got 0"),
    ("samplers", "distance_distribution", {**SPLIT, "bins": 1}, r"sampler\.bins must be at least 2; got 1"),
    ("samplers", "distance_distribution", {**SPLIT, "cost": "emd"}, "cost must be 'w1' or 'roth_code'; got 'emd'"),
    (
        "samplers",
        "distance_distribution",
        {**SPLIT, "batch_size": 1, "per_class": 1},
        "a batch of 1 has no distances to match",
    ),
    ("samplers", "distance_distribution", {**SPLIT, "pool": 39}, r"pool must be at least the batch size of 40; got 39"),
    (
        "samplers",
        "distance_distribution",
        {**SPLIT, "batch_size": 112, "per_class": 2},
        "needs 56 different classes; the training split has 30",
    ),
    ("samplers", "frechet", {**SPLIT, "candidates": 0}, r"sampler\.candidates must be at least 1; got 0"),
    ("samplers", "frechet", {**SPLIT, "batch_size": 1, "per_class": 1}, "a batch of 1 has no covariance"),
    ("samplers", "frechet", {**SPLIT, "batch_size": 112, "per_class": 2}, "needs 56 different classes; .* 30"),
    ("samplers", "greedy_coreset", {"labels": FEW, "batch_size": 8, "pool": 4}, "at least the batch size of 8; got 4"),
    ("samplers", "greedy_coreset", {**SPLIT, "mine": "step"}, "mine must be 'batch' or 'epoch'; got 'step'"),
    ("samplers", "greedy_coreset", {**SPLIT, "momentum": 1.0}, r"momentum must be in \[0, 1\), .* got 1\.0"),
    ("samplers", "greedy_coreset", {**SPLIT, "projection": -1}, r"projection must be 0 \(off\) or a number .* got -1"),
    ("samplers", "greedy_coreset", {**SPLIT, "memory_limit": -1.0}, r"memory_limit must be 0 or more gig.* got -1\.0"),
    ("samplers", "greedy_coreset", {**SPLIT, "per_class": 3}, "per_class must divide the batch size of 40; got 3"),
    ("samplers", "greedy_coreset", {"labels": FEW, "batch_size": 128}, "picks 32 images per batch; .* split has 20"),
    (
        "samplers",
        "greedy_coreset",
        {"labels": torch.zeros(1, dtype=torch.long), "batch_size": 1, "per_class": 1},
        "a pool needs at least two images; the training split has 1",
    ),
    ("samplers", "hierarchical", {**GROUPED, "super_labels": None}, "needs super-classes, and the data set has none"),
    ("samplers", "hierarchical", {**GROUPED, "super_labels": SUPERS[:3]}, "per image; got 3 for 144 images"),
    (
        "samplers",
        "hierarchical",
        {**GROUPED, "super_labels": torch.arange(144) % 2},
        "images are in another super-class than their class",
    ),
    (
        "samplers",
        "hierarchical",
        {**GROUPED, "super_labels": SUPERS, "super_per_batch": 3},
        r"sampler\.super_per_batch must divide the 4 classes of a batch; got 3",
    ),
    (
        "samplers",
        "hierarchical",
        {**GROUPED, "super_labels": SUPERS, "per_class": 2, "super_per_batch": 8},
        "must be at most the number of super-classes, 4; got 8",
    ),
    ("samplers", "m_per_class", {**SPLIT, "per_class": 7}, "per_class must divide the batch size of 40; got 7"),
    ("samplers", "m_per_class", {**SPLIT, "batch_size": 256}, "needs 64 different classes"),
    ("samplers", "m_per_class", {**SPLIT, "straddle": True, "list_length": 31}, "batch size of 40; got 31"),
    ("samplers", "m_per_class", {**SPLIT, "straddle": True, "per_class": 0}, "per_class must be at least 1; got 0"),
    ("samplers", "per_class", {**SPLIT, "per_class": 7}, "per_class must divide the batch size of 40; got 7"),
    ("samplers", "per_class", {**SPLIT, "per_class": 0}, "per_class must be at least 1; got 0"),
    ("samplers", "per_class", {**SPLIT, "batch_size": 0}, "the batch size must be at least 1; got 0"),
    ("samplers", "per_class", {**SPLIT, "batch_size": 128}, r"sampler\.per_class = 4 needs 32 different classes; .*30"),
    ("samplers", "per_class_random", {**SPLIT, "uniform_over": "images"}, "'samples' or 'classes'; got 'images'"),
    ("samplers", "per_class_random", {**SPLIT, "batch_size": 1}, "at least 2, for a pair; got 1"),
    ("samplers", "per_class_random", {"labels": FEW, "batch_size": 32}, "needs 31 different images; .*20"),
    ("samplers", "uniform", {"labels": FEW, "batch_size": 64}, "a batch of 64 different images needs as many; .*20"),
    ("samplers", "balanced", {"labels": uneven_split(), "batch_size": 64}, "needs 16 different classes; .* has 10"),
    ("metrics", "recall", {"k": 0}, "recall.k must be a whole number from 1; got 0"),
    ("metrics", "precision", {"k": 1.5}, "precision.k must be a whole number from 1; got 1.5"),
    ("metrics", "map", {"limit": 0}, "map.limit must be a whole number from 1, or nothing for the whole list; got 0"),
    ("metrics", "map", {"divisor": "R"}, "map.divisor must be 'relevant' or 'class_size'; got 'R'"),
    ("metrics", "ndcg", {"k": -1}, "ndcg.k must be a whole number from 1, or nothing for the whole list; got -1"),
    ("transforms", "roth2020", {**RGB, "variant": "huge"}, "roth2020.variant must be one of base, red, big"),
    ("transforms", "roth2020", {**RGB, "side": 300}, "roth2020.side must be in .1, .* = 256.; got 300"),
    ("transforms", "mlrc2020", {**RGB, "smallest_area": 0}, "mlrc2020.smallest_area must be in .0, 1.; got 0"),
    ("transforms", "mlrc2020", {**RGB, "narrowest": 2}, "mlrc2020.narrowest"),
    ("transforms", "mlrc2020", {**RGB, "flip": 2}, "mlrc2020.flip must be a probability"),
    ("transforms", "plain", {**RGB, "shorter_side": 0}, "plain.shorter_side must be in .1, 4096. pixels"),
    ("transforms", "photographs", {**RGB, "hue": 0.7}, "photographs.hue must be in .0, 0.5."),
    ("transforms", "photographs", {**RGB, "gray": -1}, "photographs.gray must be a probability"),
    ("transforms", "photographs", {**RGB, "contrast": -1}, "photographs.contrast must be at least 0"),
    ("transforms", "photographs", {**RGB, "widest": 0.1}, "photographs.narrowest must be in"),
    ("transforms", "photographs", {**RGB, "smallest_area": 2}, "photographs.smallest_area must be in"),
    ("splits", "class_folds", {"fold": -1}, "class_folds.fold must be in 0..3 for 4 folds; got -1"),
    ("splits", "class_folds", {"fold": 4}, "class_folds.fold must be in 0..3 for 4 folds; got 4"),
    ("splits", "closed_set", {"test": 0}, "closed_set.test must be above 0 and below 1; got 0"),
    ("splits", "closed_set", {"validation": 0.5, "test": 0.5}, r"so that something trains; got 0.5 \+ 0.5"),
    ("splits", "half_classes", {"validation": 1}, "half_classes.validation must be 0 or more and below 1; got 1"),
    ("splits", "half_classes", {"validation": -0.1}, "half_classes.validation must be 0 or more .*; got -0.1"),
    ("splits", "half_classes", {"validation": float("nan")}, "half_classes.validation must be 0 or more .*; got nan"),
    ("splits", "random_halves", {"validation": 1.0}, "random_halves.validation must be 0 or more and below 1; got 1"),
    ("splits", "roth_validation", {"train": 1}, "roth_validation.train must be above 0 and below 1; got 1"),
]


@pytest.mark.parametrize(("room", "name", "settings", "complaint"), REFUSED)
def test_a_setting_out_of_range_is_refused(room, name, settings, complaint):
    with pytest.raises((InputError, DataError), match=complaint):
        find(room, name)(**settings)
