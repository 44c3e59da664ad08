"""Every loss against its loop, over settings, kinds of labels, and tuples from a miner."""

from itertools import product

import pytest
import torch

from fairground.contracts.loss import Pairs, Triplets
from tests.losses import oracles
from tests.losses.fixtures import F8, F8B, T8B, X, on_fixture


def every(**choices):
    """Return one dictionary of settings for every combination; a setting with one choice may be given bare."""
    lists = [choice if isinstance(choice, tuple) else (choice,) for choice in choices.values()]
    return [dict(zip(choices, chosen, strict=True)) for chosen in product(*lists)]


REDUCTIONS = ("mean_nz", "mean_all")
SIGMAS = {"decoupled": True, "decoupled_sigma": (None, 0.4)}
ON_TUPLES = {
    "adasp": every(temperature=(0.3, 2.0), positive=("adaptive", "hardest", "least_hard")),
    "angular": every(alpha=(30.0, 50.0)),
    "circle": every(margin=(0.4, -0.5), gamma=9.0),
    "contrastive": every(positive_margin=(0.9, -0.2), negative_margin=1.3, reduction=REDUCTIONS),
    "fast_ap": every(bins=(2, 10, 27)),
    "generalised_lifted_structure": [
        *every(margin=(1.0, -2.2), normalise=(False, True), reduction=("mean_anchor", "sum")),
        *every(margin=1.0, norm_weight=0.3, norm_power=(1, 2)),
    ],
    "hierarchical_ap": every(query_in_ranking=(False, True), calibration_weight=(0.0, 0.7), alpha=2.0),
    "histogram": every(nodes=(3, 11, 20, 65)),
    "lifted_structure": every(margin=(1.0, -2.0)),
    "margin": every(margin=0.3, beta=0.9, count=("pairs", "tuples"), beta_weight=(0.0, 0.5)),
    "multi_similarity": [
        *every(alpha=3.0, beta=7.0, base=0.4, epsilon=(None, 0.0, 0.1, 0.5), empty=("halves", "survivors", "batch")),
        *every(alpha=2.0, beta=40.0, base=0.5, epsilon=0.4, self_positive_bug=True),
    ],
    "n_pair": [
        *every(normalise=(False, True), positives=("all", "one_per_class")),
        *every(norm_weight=0.3, norm_power=(1, 2)),
    ],
    "nca": every(scale=(0.3, 4.0)),
    "nt_xent": [*every(temperature=0.3), *every(temperature=0.3, **SIGMAS)],
    "pairwise_cross_entropy": [
        *every(distance=("cosine", "poincare"), temperature=(0.1, 1.3), reduction=("mean", "sum")),
        *every(distance="poincare", temperature=0.2, reduction="sum", curvature=2.0, longest=0.7, epsilon=(0.0, 1e-3)),
    ],
    "quadruplet": every(margin=0.6, second_margin=0.4, reduction=REDUCTIONS),
    "ranked_list": [
        {"positive_temperature": near, "negative_temperature": far, "alpha": 1.3, "margin": 0.4, "negative_weight": 0.3}
        for near, far in ((0.0, 10.0), (3.0, 0.0))
    ],
    "recall_at_k": every(rank_temperature=0.05, count_temperature=(1.0, 4.0), query_in_ranking=(False, True)),
    "smooth_ap": every(temperature=(0.01, 0.2), query_in_ranking=(False, True)),
    "sigmoid_pairs": every(scale=4.0, bias=(None, -2.0), balanced=(False, True)),
    "snr": [
        *every(positive_margin=0.5, negative_margin=1.5, reduction=REDUCTIONS, zero_mean_weight=(0.0, 0.3)),
        *every(form="triplet", reduction=REDUCTIONS, zero_mean_weight=(0.0, 0.3)),
    ],
    "sup_con": [*every(temperature=0.3), *every(temperature=0.3, **SIGMAS)],
    "triplet": [
        *every(margin=0.3, power=(1, 2), reduction=REDUCTIONS, swap=(False, True)),
        *every(margin=0.3, power=(1, 2), smooth=True, swap=(False, True)),
    ],
    "tuplet_margin": every(margin=20.0, scale=5.0),
}
#: binned or sigmoid sums and ratios of variances are rounded more often
TOLERANCES = {"proxy_nca": 1e-11, "snr": 1e-11}
TOLERANCES |= dict.fromkeys(("fast_ap", "hierarchical_ap", "histogram", "recall_at_k", "smooth_ap"), 1e-9)


def near(name, expected):
    return pytest.approx(expected, abs=TOLERANCES.get(name, 1e-12))


#: labels that are neither small, nor sorted, nor all positive; all alone; all of one class
LABELS = [F8, F8B, torch.tensor([700, -3, 700, 12, -3, 700, 12, 5]), torch.arange(8), torch.zeros(8, dtype=torch.long)]


@pytest.mark.parametrize("name", ON_TUPLES)
def test_a_loss_on_all_tuples_agrees_with_its_loop(name):
    for settings in ON_TUPLES[name]:
        loss = on_fixture(name, **settings)
        for labels in LABELS:
            expected = getattr(oracles, name)(oracles.Tuples(labels), **settings)
            assert loss(X, labels).item() == near(name, expected), (settings, labels)


#: repeats, anchors without positives or negatives, and pairs that come both ways round
MINED = [
    T8B,
    Triplets(*torch.tensor([[0, 0, 3], [1, 1, 4], [3, 5, 6]])),
    Pairs(*(torch.tensor(index) for index in ([0, 3, 0], [1, 4, 2], [0, 3, 3], [5, 1, 6]))),
    Pairs(*(torch.tensor(index) for index in ([0, 0, 3], [1, 1, 4], [0, 5], [3, 1]))),
    Pairs(*(torch.tensor(index) for index in ([0, 3, 5], [1, 4, 6], [0, 4, 4], [3, 0, 0]))),
    Pairs(*(torch.tensor(index) for index in ([0, 1, 3], [1, 0, 4], [0, 3, 5], [3, 0, 1]))),
    Pairs(*(torch.tensor(index) for index in ([3], [4], [5], [1]))),
    Triplets(*torch.empty(3, 0, dtype=torch.long)),
]


@pytest.mark.parametrize("name", [name for name in ON_TUPLES if on_fixture(name).accepts and name != "quadruplet"])
def test_a_loss_on_mined_tuples_agrees_with_its_loop(name):
    for settings in ON_TUPLES[name]:
        loss = on_fixture(name, **settings)
        for mined in MINED:
            if isinstance(mined, loss.accepts) and "epsilon" not in settings:
                expected = getattr(oracles, name)(oracles.Tuples(F8, mined), **settings)
                assert loss(X, F8, mined).item() == near(name, expected), (settings, mined)


@pytest.mark.parametrize("count", ["pairs", "tuples"])
def test_every_class_of_anchors_has_its_own_border_in_the_margin_loss(count):
    borders = [0.9, 1.1, 0.8, 1.2]
    loss = on_fixture("margin", beta_kind="per_class", count=count, beta_weight=0.5)
    loss.beta.data.copy_(torch.tensor(borders, dtype=torch.float64))
    expected = oracles.margin(oracles.Tuples(F8), margin=0.2, beta=borders, count=count, beta_weight=0.5)
    assert loss(X, F8).item() == pytest.approx(expected, abs=1e-12)


NORMS = {"low_norm": 1.4, "high_norm": 1.7}
WITH_CLASS_VECTORS = {
    "adaface": every(margin=(0.2, 0.9), concentration=(0.3, 5.0), scale=3, rate=(1.0, 0.1)),
    "arc_face": every(margin=(0.0, 0.5, 1.4), scale=3, fallback=(True, False)),
    "centre": every(weight=0.2),
    "cos_face": every(margin=0.4, scale=5),
    "magface": every(**NORMS, low_margin=0.2, high_margin=1.3, scale=3, norm_weight=0.7),
    "normalised_softmax": every(temperature=0.3),
    "proxy_nca": every(scale=4, positive_in_denominator=(True, False), power=(1, 2)),
    "proxy_nca_pp": every(temperature=0.2),
    "soft_triple": every(n_centres=2, scale=5, gamma=0.3, margin=0.2, reg_weight=0.7),
    "sphere_face": every(margin=(1, 2, 3, 4), scale=0.7, cosine_weight=(0, 0.5, 5)),
    "sub_centre_arc_face": every(n_centres=2, margin=0.5, scale=6),
    "unified_cross_entropy": every(margin=0.3, scale=6, bias=1.5, negative_weight=(1.0, 0.2)),
}


@pytest.mark.parametrize("name", WITH_CLASS_VECTORS)
def test_a_loss_with_class_vectors_agrees_with_its_loop(name):
    for settings in WITH_CLASS_VECTORS[name]:
        terms = [getattr(oracles, name)(x, y, **settings) for x, y in zip(X, F8.tolist(), strict=True)]
        assert on_fixture(name, **settings)(X, F8).item() == near(name, sum(terms) / 8), settings


@pytest.mark.parametrize("labels", [F8, torch.tensor([0, 0, 2, 2, 2, 0, 0, 2]), torch.ones(8, dtype=torch.long)])
def test_the_proxy_anchor_loss_agrees_with_its_loop(labels):
    expected = oracles.proxy_anchor(labels.tolist(), alpha=3, margin=0.2)
    assert on_fixture("proxy_anchor", alpha=3, margin=0.2)(X, labels).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("labels", [F8, torch.tensor([0, 0, 2, 2, 2, 0, 0, 2]), torch.ones(8, dtype=torch.long)])
def test_the_hypergraph_loss_agrees_with_its_loop(labels):
    for settings in every(tau=2.0, alpha=0.7, hypergraph_weight=(0.0, 1.5)):
        loss = on_fixture("hist", hidden=4, **settings)
        loss.first.bias.data.zero_()
        loss.second.bias.data.zero_()
        expected = oracles.hist(labels.tolist(), **settings)
        assert loss(X, labels).item() == pytest.approx(expected, abs=1e-12), settings


@pytest.mark.parametrize("query_in_ranking", [False, True])
def test_hierarchical_average_precision_agrees_with_its_loop_over_three_levels(query_in_ranking):
    levels = torch.tensor([[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 2, 1]])
    settings = {"levels": levels, "query_in_ranking": query_in_ranking, "temperature": 0.05}
    for labels in (F8, F8B, torch.arange(8) % 2 * 3):
        expected = oracles.hierarchical_ap(oracles.Tuples(labels), **settings)
        assert on_fixture("hierarchical_ap", **settings)(X, labels).item() == pytest.approx(expected, abs=1e-9)
