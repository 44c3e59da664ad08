"""One value of every loss that a reader can check with a pencil."""

from math import cos, exp, log, pi, radians, sqrt

import pytest
import torch

from tests.losses.fixtures import build
from tests.losses.oracles import sigmoid


def on_circle(*degrees):
    return [[cos(radians(angle)), cos(radians(90 - angle))] for angle in degrees]


#: two classes of two on the axes of a plane: a positive has cosine 1 and distance 0, a negative cosine 0 and sqrt(2)
AXES = ([[1, 0], [2, 0], [0, 3], [0, 1]], [0, 0, 1, 1])
#: the corners of a square: neighbours at sqrt(2), opposite corners at 2; the positive and one negative are neighbours
SQUARE = ([[1, 0], [0, 1], [-1, 0], [0, -1]], [0, 0, 1, 1])
#: two classes of two, opposite each other
POLES = ([[1, 0], [1, 0], [-1, 0], [-1, 0]], [0, 0, 1, 1])
#: right angles: the positive is sqrt(2) away, the negatives sqrt(2) and 2
CORNER = ([[1, 0], [0, 2], [-3, 0]], [4, 4, 9])
NORTH_EAST = ([[1, 0], [0, 1]], [0, 0])
CIRCLE = (on_circle(0, 10, -20, 30, 100, 150), [0, 0, 1, 0, 2, 3])
#: to a negative at 150 degrees, with a positive at 45 and a scale of 4
OPPOSITE = exp(4 * (cos(radians(150)) - cos(radians(45))))
#: at a temperature of one half the hardest positive counts H = 1 - log(4) / 2 and the least hard E = 1
SPARSE = 2 * (1 - log(4) / 2) / (2 - log(4) / 2)
LINE = ([[0], [1], [3], [4]], [0, 0, 1, 1])
BORDERS = {"positive_margin": 1, "negative_margin": 1.8}
CASES = [
    # One positive pair in both orders; of the negative pairs only the neighbours are nearer than 1.8.
    ("contrastive", BORDERS, CORNER, (sqrt(2) - 1) + (1.8 - sqrt(2))),
    ("contrastive", {**BORDERS, "reduction": "mean_all"}, CORNER, (sqrt(2) - 1) + (1.8 - sqrt(2)) / 2),
    # From the first sample: sqrt(2) - 2 + 1; from the second: sqrt(2) - sqrt(2) + 1.
    ("triplet", {"margin": 1}, CORNER, (sqrt(2) - 1 + 1) / 2),
    # Squared: 2 - 4 + 1 is below 0, 2 - 2 + 1 is not.
    ("triplet", {"margin": 1, "power": 2}, CORNER, 1),
    ("triplet", {"margin": 1, "power": 2, "reduction": "mean_all"}, CORNER, 0.5),
    # All alike: every excess is the margin, 0.
    ("triplet", {"margin": 0, "smooth": True}, ([[1, 1]] * 4, [0, 0, 1, 1]), log(2)),
    # Both triplets pay sqrt(2) - 1.2 + 0.5; only the negative at sqrt(2) is nearer than 1.7.
    ("margin", {"margin": 0.5, "beta": 1.2}, CORNER, (2 * (sqrt(2) - 0.7) + (1.7 - sqrt(2))) / 3),
    # Each anchor has one negative at 2 and one at sqrt(2); the strangers are as far apart as the positives.
    ("quadruplet", {"margin": 0.1, "second_margin": 1}, (SQUARE[0], [0, 0, 1, 2]), (0 + 0.1 + 0.1 + 0) / 4 + 1),
    # Each has variance 1/4, their difference (1, -1) has variance 1.
    ("snr", {}, NORTH_EAST, 4),
    ("snr", {"positive_margin": 1}, NORTH_EAST, 3),
    ("snr", {}, (NORTH_EAST[0], [0, 1]), 0),
    ("snr", {"negative_margin": 5}, (NORTH_EAST[0], [0, 1]), 1),
    # Products with the positive are 2 and 3, with all negatives 0; one pair per class has a single negative.
    ("n_pair", {}, AXES, (log(1 + 2 * exp(-2)) + log(1 + 2 * exp(-3))) / 2),
    ("n_pair", {"positives": "one_per_class"}, AXES, (log(1 + exp(-2)) + log(1 + exp(-3))) / 2),
    ("nt_xent", {"temperature": 0.5}, AXES, log(1 + 2 * exp(-1 / 0.5))),
    ("sup_con", {"temperature": 0.5}, AXES, -log(exp(2) / (exp(2) + 2))),
    # Two negatives at 0, the positive at 1 / T = 2; all positives are alike, so that their weight is 2 - 1.
    ("nt_xent", {"temperature": 0.5, "decoupled": True}, AXES, log(2) - 2),
    ("sup_con", {"temperature": 0.5, "decoupled": True, "decoupled_sigma": 0.1}, AXES, log(2) - 2),
    # One class with positives at cosine 1, one with positives at 0: e^1 and e^0 among their mean.
    (
        *("nt_xent", {"temperature": 1.0, "decoupled": True, "decoupled_sigma": 1.0}),
        ([[1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 1]], [0, 0, 1, 1]),
        log(2) - (2 - 2 * exp(1) / (exp(1) + 1)) / 2,
    ),
    # From every anchor one positive at 1 and two negatives at 0; their odds are 1 : 2.
    ("sigmoid_pairs", {"scale": 3.0, "bias": -1.0}, AXES, log(1 + exp(1 - 3)) + 2 * log(1 + exp(-1))),
    ("sigmoid_pairs", {"scale": 3.0}, AXES, log(1 + 2 * exp(-3)) + 2 * log(1.5)),
    ("sigmoid_pairs", {"scale": 3.0, "bias": -1.0, "balanced": True}, AXES, log(1 + exp(-2)) + log(1 + exp(-1))),
    # Of a class, four cosines of 1: h = -log(4 / e), e = log(2 / (2 / e)); its four negatives have cosine 0.
    ("adasp", {"temperature": 1.0, "positive": "hardest"}, AXES, log(1 + 4 * 4 / exp(1))),
    ("adasp", {"temperature": 1.0, "positive": "least_hard"}, AXES, log(1 + 4 / exp(1))),
    ("adasp", {"temperature": 1.0}, AXES, log(1 + 4 / exp(1))),
    ("adasp", {"temperature": 0.5}, AXES, log(1 + 4 / exp(SPARSE * (2 - log(4)) + (1 - SPARSE) * 2))),
    ("nca", {"scale": 0.5}, AXES, -log(1 / (1 + 2 * exp(-0.5 * 2)))),
    # tan 45 degrees is 1: the exponent is 4 (0 + 0) - 4 * 1, for two negatives.
    ("angular", {"alpha": 45.0}, AXES, log(1 + 2 * exp(-4))),
    # Positive: rate 0.2, 0.2 beyond its border; negatives: rate 0.2, 0.2 short of theirs.
    ("circle", {"margin": 0.2, "gamma": 5.0}, AXES, log(1 + exp(-5 * 0.2 * 0.2) * 2 * exp(-5 * 0.2 * 0.2))),
    ("multi_similarity", {"alpha": 2, "beta": 4, "base": 0.5}, AXES, log(1 + exp(-1)) / 2 + log(1 + 2 * exp(-2)) / 4),
    # Each end of a pair has two negatives.
    ("lifted_structure", {"margin": 1.0}, AXES, log(4 * exp(1 - sqrt(2))) ** 2 / 2),
    # J = log(2 e^(0.5 - 2)) + 0 is below 0.
    ("lifted_structure", {"margin": 0.5}, ([[1, 0], [2, 0], [-1, 0]], [0, 0, 1]), 0),
    # On a line each anchor has its positive at distance 1, its negatives at 3, 4 or 2, 3.
    ("generalised_lifted_structure", {"margin": 2.0}, LINE, 1 + (log(exp(-1) + exp(-2)) + log(exp(0) + exp(-1))) / 2),
    # Positives 60 degrees apart, eased by 15; the negatives of the outer at 150, of the inner at 90 and 150 degrees.
    (
        *("tuplet_margin", {"margin": 15.0, "scale": 4.0}, (on_circle(0, 60, 150, 210), [0, 0, 1, 1])),
        (log(1 + 2 * OPPOSITE) + log(1 + OPPOSITE + exp(-4 * sqrt(0.5)))) / 2,
    ),
    ("ranked_list", {"alpha": 1.5, "margin": 0.5}, SQUARE, (sqrt(2) - 1) / 2 + (1.5 - sqrt(2)) / 2),
    # Nodes -1, 0, 1. Positives have cosine 0.6: 0.4 at 0 and 0.6 at 1. Negatives have 0.8, 0, 0.96 and 0.8, so 0.64 at
    # 1, above all positives; those at 0 are above the 0.4.
    ("histogram", {"nodes": 3}, ([[1, 0], [0.6, 0.8], [0.8, 0.6], [0, 1]], [0, 0, 1, 1]), (1 - 0.64) * 0.4 + 0.64),
    ("histogram", {}, POLES, 0),
    # Positives are opposite; of four negative pairs two coincide and two are opposite, tied with the positives.
    ("histogram", {}, (POLES[0], [0, 1, 0, 1]), 1),
    # Nodes 0, 2, 4: at node 2 stand the positive and one negative.
    ("fast_ap", {"bins": 2}, SQUARE, 1 - 1 / 2),
    ("fast_ap", {}, POLES, 0),
    # The positive is tied with one negative, and the other is far behind: rank 1.5.
    ("smooth_ap", {"temperature": 0.01}, SQUARE, 1 - 1 / 1.5),
    ("recall_at_k", {"ks": [1, 2], "count_temperature": 0.5}, SQUARE, 1 - (sigmoid(-1) + sigmoid(1)) / 2),
    # At a low temperature it is average precision: positives at 1 and 3, or 1 and 2.
    ("smooth_ap", {"temperature": 1e-4}, CIRCLE, 1 - ((1 / 1 + 2 / 3) / 2 + 1 + 1) / 3),
    # The positive is tied with one negative, which counts half.
    ("hierarchical_ap", {}, SQUARE, 1 - 1 / 1.5),
    # The first query finds a stranger 1 nearer than its positive; the second finds both equally near.
    ("hierarchical_ap", {}, ([[1, 0], [0, 1], [1, 0]], [0, 0, 1]), 1 - (1 / (1 + 100 * 0.95 + 1.44) + 1 / 1.5) / 2),
    ("hierarchical_ap", {"calibration_weight": 2.0}, POLES, 0),
    # A positive is opposite, with one stranger beside it and one 2 nearer.
    (
        *("hierarchical_ap", {"calibration_weight": 3.0}, (POLES[0], [0, 1, 0, 1])),
        1 - 1 / (1.5 + 100 * 1.95 + 1.44) + 3 * ((0.9 + 1) + (1 - 0.6)),
    ),
    # Classes of two: both samples of the other class are compared with.
    ("pairwise_cross_entropy", {"temperature": 0.5}, AXES, log(1 + 2 * exp(-2))),
    ("pairwise_cross_entropy", {"temperature": 0.5, "reduction": "sum"}, AXES, 2 * log(1 + 2 * exp(-2))),
    # A vector of length 1 is mapped to distance 2 from the centre of the ball, and so to 4 from its opposite.
    (
        "pairwise_cross_entropy",
        {"distance": "poincare", "temperature": 2.0, "epsilon": 0.0},
        POLES,
        log(1 + 2 * exp(-2)),
    ),
    # Ten coincident samples of one class: nine positives of rank 5 overfill the one place.
    ("recall_at_k", {"ks": (1,), "count_temperature": 5.0}, ([[1, 0]] * 10 + [[-1, 0]], [0] * 10 + [1]), 0),
]


@pytest.mark.parametrize(("name", "settings", "batch", "expected"), CASES)
def test_a_loss_on_tuples(name, settings, batch, expected):
    embeddings, labels = torch.tensor(batch[0], dtype=torch.float64), torch.tensor(batch[1])
    assert build(name, **settings)(embeddings, labels).item() == pytest.approx(expected, abs=1e-9)


EYE = [[1, 0], [0, 1]]
POLAR = [[[1, 0], [-1, 0]], [[0, 1], [0, -1]]]
APART = {"biases": [0, 1], "centres": [[0, 2], [9, 9]]}
SOFT = {"n_centres": 2, "scale": 1, "gamma": 1, "margin": 0, "reg_weight": 3}
#: class vectors, one embedding of class 0
WITH_CLASS_VECTORS = [
    # Length does not matter: the cosines are 1 and 0, the logits 2 and 0.
    ("normalised_softmax", {"temperature": 0.5}, {"weights": [[3, 0], [0, 0.1]]}, [2, 0], log(1 + exp(-2))),
    ("normalised_softmax", {"temperature": 0.5}, {"weights": [[0, 0.1], [3, 0]]}, [2, 0], log(1 + exp(2))),
    # The own cosine 1 counts as 0.5: logits 1 and 0.
    ("cos_face", {"margin": 0.5, "scale": 2}, {"weights": EYE}, [3, 0], log(1 + exp(-1))),
    # Own: e^(1 - 2 (1 - 0.5)) = 1; other: e^(0 - 1), twice. Clamped, its exponent is -0.5.
    (
        *("unified_cross_entropy", {"margin": 0.5, "scale": 2, "bias": 1.0, "negative_weight": 2.0}),
        *({"weights": EYE}, [3, 0], log(2) + 2 * log(1 + exp(-1))),
    ),
    (
        *("unified_cross_entropy", {"margin": 0, "scale": 0.5, "bias": 1.0, "clamp_exponents": True}),
        *({"weights": EYE}, [3, 0], log(1 + exp(0.5)) + log(1 + exp(-0.5))),
    ),
    # Norm 5 among a running mean of 20 and deviation of 100 that one sample moves to 5 and leaves: h = 0, CosFace.
    ("adaface", {"margin": 0.5, "scale": 2, "rate": 1.0}, {"weights": EYE}, [3, 4], log(1 + exp(2 * (0.8 - 0.1)))),
    # At 60 degrees, norm 10: margin 0.5 of 30 degrees; its price is 3 (10 / 20^2 + 1 / 10).
    (
        *("magface", {"low_margin": pi / 6, "high_margin": 1, "high_norm": 20, "scale": 2, "norm_weight": 3}),
        *({"weights": EYE}, [5, 5 * sqrt(3)], log(1 + exp(2 * cos(pi / 6))) + 3 * (10 / 400 + 1 / 10)),
    ),
    # Without deviation, as in cos_face.
    ("elasticface", {"form": "cos", "deviation": 0, "scale": 2}, {"weights": EYE}, [3, 0], log(1 + exp(-1))),
    # 30 degrees from class 0 with a margin of 30: its cosine counts as cos 60, as does that to class 1.
    ("arc_face", {"margin": 30, "margin_unit": "degrees", "scale": 10}, {"weights": EYE}, [sqrt(0.75), 0.5], log(2)),
    # On a centre of class 0, across from its other one: only the near one counts, cosines 1 and 0.
    ("sub_centre_arc_face", {"n_centres": 2, "margin": 0, "scale": 3}, {"weights": POLAR}, [-2, 0], log(1 + exp(-3))),
    # Length 2, 45 degrees from both classes: the own angle counts twice, cos 90 = 0; the other logit is 2 cos 45.
    ("sphere_face", {"margin": 2, "cosine_weight": 0}, {"weights": EYE}, [sqrt(2), sqrt(2)], log(1 + exp(sqrt(2)))),
    # Squared distances 0 to the own proxy and 2 to the other, times 3, or over a temperature of one half.
    ("proxy_nca", {"scale": 3}, {"proxies": EYE}, [5, 0], log(1 + exp(-6))),
    ("proxy_nca", {"scale": 3, "positive_in_denominator": False}, {"proxies": EYE}, [5, 0], -6),
    ("proxy_nca", {"scale": 3, "positive_in_denominator": False, "power": 1}, {"proxies": EYE}, [5, 0], -3 * sqrt(2)),
    ("proxy_nca_pp", {"temperature": 0.5}, {"proxies": EYE}, [7, 0], log(1 + exp(-4))),
    # On proxy 0: drawn by 0 with cosine 1, pushed by 1 with cosine 0; only class 0 is present.
    ("proxy_anchor", {"alpha": 2, "margin": 0.5}, {"proxies": EYE}, [3, 0], log(1 + exp(-1)) + log(1 + exp(1)) / 2),
    # Class 0 has cosines 1 and 0, weighted e : 1; class 1 has two coinciding centres at cosine 0.
    (
        *("soft_triple", SOFT, {"centres": [[[1, 0], [0, 1]], [[0, -1], [0, -1]]]}),
        [4, 0],
        log(1 + exp(-exp(1) / (exp(1) + 1))) + 3 * (sqrt(2) + 0) / (2 * 2 * 1),
    ),
    # Squared distances 0 to the own mean and 2 to the other; a variance of e divides the latter.
    (
        "hist",
        {"tau": 3.0, "hypergraph_weight": 0.0},
        {"means": EYE, "log_variances": [[0, 0]] * 2},
        [5, 0],
        log(1 + exp(-6)),
    ),
    (
        "hist",
        {"tau": 3.0, "hypergraph_weight": 0.0},
        {"means": EYE, "log_variances": [[1, 1]] * 2},
        [5, 0],
        log(1 + exp(-6 / exp(1))),
    ),
    # One sample: the batch norm leaves nothing of it, and the hypergraph gives both classes the same logit.
    (
        "hist",
        {"tau": 3.0},
        {"means": EYE, "log_variances": [[0, 0]] * 2, "second.weight": 0, "second.bias": 0},
        [5, 0],
        log(1 + exp(-6)) + log(2),
    ),
    # Logits 3 and 0 + 1; the centre of class 0 is at a squared distance of 9 + 4.
    ("centre", {"weight": 0.5}, {"weights": EYE, **APART}, [3, 0], log(1 + exp(1 - 3)) + 0.5 / 2 * 13),
]


@pytest.mark.parametrize(("name", "settings", "vectors", "embedding", "expected"), WITH_CLASS_VECTORS)
def test_a_loss_with_class_vectors(name, settings, vectors, embedding, expected):
    loss = build(name, n_classes=2, embedding_dim=2, **settings).double()
    for parameter, values in vectors.items():
        loss.get_parameter(parameter).data.copy_(torch.tensor(values))
    value = loss(torch.tensor([embedding], dtype=torch.float64), torch.tensor([0]))
    assert value.item() == pytest.approx(expected, abs=1e-6)
