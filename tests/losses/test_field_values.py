"""Values and gradients of losses published since 2020, as the authors' codes give them in float64."""

import json
from math import log
from pathlib import Path

import pytest
import torch
from torch.nn.functional import normalize

from fairground.losses import self_distillation
from fairground.regularisers import ThresholdConsistentMarginRegulariser
from tests.losses.fixtures import build

FIELD = json.loads(Path(__file__).with_name("field_fixtures.json").read_text(encoding="utf-8"))


def numbers(name):
    return torch.tensor(FIELD[name], dtype=torch.float64)


LABELS, LEVELS_OF_ROWS = torch.tensor(FIELD["labels"]), torch.tensor(FIELD["hierarchy_labels"])
FINE = LEVELS_OF_ROWS[:, 0]
LEVELS = torch.stack([LEVELS_OF_ROWS[c == FINE][0] for c in range(int(FINE.max()) + 1)])
#: two samples of each class, which two views of an image are
VIEWS = [row for row in range(12) if FIELD["labels"][:row].count(FIELD["labels"][row]) < 2]
#: the bias of four classes, as a weight in float32
BIAS = torch.tensor(log(10 * 4), dtype=torch.float32).item()
DECOUPLED = {"temperature": 0.1, "decoupled": True}
BALL = {"distance": "poincare", "temperature": 0.2, "reduction": "sum"}
LOSSES = [
    ("adaface", "adaface", {"rate": 1.0}),
    ("adasp_adasp", "adasp", {}),
    ("adasp_sp-h", "adasp", {"positive": "hardest"}),
    ("adasp_sp-lh", "adasp", {"positive": "least_hard"}),
    ("dcl_two_views", "nt_xent", DECOUPLED),
    ("dcl_two_views", "sup_con", DECOUPLED),
    ("dclw_two_views", "nt_xent", {**DECOUPLED, "decoupled_sigma": 0.5}),
    ("dclw_two_views", "sup_con", {**DECOUPLED, "decoupled_sigma": 0.5}),
    ("hap_loss", "hierarchical_ap", {"levels": LEVELS, "query_in_ranking": True}),
    ("hist_distribution_part", "hist", {"hypergraph_weight": 0.0}),
    ("hyperbolic_pairwise_ce", "pairwise_cross_entropy", BALL),
    ("magface", "magface", {}),
    ("mrl_e_ce", "matryoshka", {"loss": "centre", "settings": {"weight": 0.0}, "dimensions": [2, 4, 8]}),
    ("roadmap_supap_general", "hierarchical_ap", {"query_in_ranking": True}),
    ("sigmoid_pairs", "sigmoid_pairs", {"bias": -10.0}),
    ("spherical_pairwise_ce", "pairwise_cross_entropy", {"reduction": "sum"}),
    ("uniface_uce", "unified_cross_entropy", {"clamp_exponents": True, "bias": BIAS}),
]


def build_field(name, **settings):
    """Return a loss with the class vectors of the fixtures, and variances of 1."""
    loss = build(name, n_classes=4, embedding_dim=8, **settings).double()
    for key, weights in loss.named_parameters():
        if weights.shape == (4, 8):
            weights.data.copy_(torch.zeros(4, 8) if "variances" in key else numbers("W"))
    return loss


def check(case, objective):
    for batch in ("X", "XC"):
        stored, x = FIELD["cases"][case][batch], numbers(batch).requires_grad_()
        value = objective(x)
        (gradient,) = torch.autograd.grad(value, x)
        assert value.item() == pytest.approx(stored["value"], abs=1e-9)
        assert torch.allclose(gradient, torch.tensor(stored["gradient"], dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("case", "name", "settings"), LOSSES)
def test_a_loss_equals_the_code_of_its_authors(case, name, settings):
    loss = build_field(name, **settings)

    def objective(x):
        if "two_views" in case:  # Both directions are summed there, and are one mean here.
            return 2 * loss(x[VIEWS], LABELS[VIEWS])
        return loss(20 * x if case == "magface" else x, FINE if case == "hap_loss" else LABELS)

    check(case, objective)


def test_parts_of_a_loss_equal_the_code_of_its_authors():
    with_calibration, without = (
        build("hierarchical_ap", query_in_ranking=True, calibration_weight=weight) for weight in (1.0, 0.0)
    )
    check("roadmap_calibration", lambda x: with_calibration(x, LABELS) - without(x, LABELS))
    check("s2sd_relation_kl", lambda x: self_distillation.relation_divergence(x, numbers("Z"), 1.0))
    check("tcm", lambda x: ThresholdConsistentMarginRegulariser().penalty(x, LABELS, build("triplet")))


def test_relevances_and_memberships_are_those_of_the_authors_code():
    stored = FIELD["cases"]["hap_relevances"]
    shared = (LEVELS_OF_ROWS.unsqueeze(1) == LEVELS_OF_ROWS).sum(2)
    assert shared.tolist() == stored["level_matrix"]
    everyone = torch.ones_like(shared, dtype=torch.bool)
    found = build("hierarchical_ap").relevances(shared, everyone, 3, torch.float64)
    # That code divides levels by 2 where there are 3, which cancels in the loss.
    torch.testing.assert_close(1.5 * found, torch.tensor(stored["value"], dtype=torch.float64), rtol=0, atol=1e-7)
    loss = build_field("hist")
    found = loss.memberships(loss.squared_distances(normalize(numbers("X"))), LABELS)
    torch.testing.assert_close(found, torch.tensor(FIELD["cases"]["hist_H"]["value"], dtype=torch.float64))
