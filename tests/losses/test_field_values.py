"""Values and gradients of losses published since 2020, as the authors' codes give them in float64."""

import json
from math import log
from pathlib import Path

import pytest
import torch

from fairground.regularisers import ThresholdConsistentMarginRegulariser
from tests.losses.fixtures import build

FIELD = json.loads(Path(__file__).with_name("field_fixtures.json").read_text(encoding="utf-8"))
LABELS = torch.tensor(FIELD["labels"])
CLASS_WEIGHTS = torch.tensor(FIELD["W"], dtype=torch.float64)
#: two samples of each class, which two views of an image are
VIEWS = [row for row in range(12) if FIELD["labels"][:row].count(FIELD["labels"][row]) < 2]
#: the bias of four classes, as a weight in float32
BIAS = torch.tensor(log(10 * 4), dtype=torch.float32).item()
DECOUPLED = {"temperature": 0.1, "decoupled": True}
LOSSES = [
    ("adaface", "adaface", {"rate": 1.0}),
    ("adasp_adasp", "adasp", {}),
    ("adasp_sp-h", "adasp", {"positive": "hardest"}),
    ("adasp_sp-lh", "adasp", {"positive": "least_hard"}),
    ("dcl_two_views", "nt_xent", DECOUPLED),
    ("dcl_two_views", "sup_con", DECOUPLED),
    ("dclw_two_views", "nt_xent", {**DECOUPLED, "decoupled_sigma": 0.5}),
    ("dclw_two_views", "sup_con", {**DECOUPLED, "decoupled_sigma": 0.5}),
    ("magface", "magface", {}),
    ("mrl_e_ce", "matryoshka", {"loss": "centre", "settings": {"weight": 0.0}, "dimensions": [2, 4, 8]}),
    ("sigmoid_pairs", "sigmoid_pairs", {"bias": -10.0}),
    ("uniface_uce", "unified_cross_entropy", {"clamp_exponents": True, "bias": BIAS}),
]


def check(case, objective):
    for batch in ("X", "XC"):
        stored, x = FIELD["cases"][case][batch], torch.tensor(FIELD[batch], dtype=torch.float64).requires_grad_()
        value = objective(x)
        (gradient,) = torch.autograd.grad(value, x)
        assert value.item() == pytest.approx(stored["value"], abs=1e-9)
        assert torch.allclose(gradient, torch.tensor(stored["gradient"], dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("case", "name", "settings"), LOSSES)
def test_a_loss_equals_the_code_of_its_authors(case, name, settings):
    loss = build(name, n_classes=4, embedding_dim=8, **settings).double()
    for weights in loss.parameters():
        if weights.ndim == 2:
            weights.data.copy_(CLASS_WEIGHTS)

    def objective(x):
        if "two_views" in case:  # Both directions are summed there, and are one mean here.
            return 2 * loss(x[VIEWS], LABELS[VIEWS])
        return loss(20 * x if case == "magface" else x, LABELS)

    check(case, objective)


def test_the_threshold_consistent_margin_equals_the_peer():
    check("tcm", lambda x: ThresholdConsistentMarginRegulariser().penalty(x, LABELS, build("triplet")))
