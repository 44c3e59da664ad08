"""Values a reader can check, fixture values, and loops that share no code."""

import math

import numpy as np
import pytest

from fairground import analysis
from fairground.errors import InputError
from fairground.evaluation import EmbeddingView, analyse
from fairground.functional.spectra import decay

# Fixture F8b.
NUMBERS = [(i, d) for i in range(1, 9) for d in range(1, 5)]
ROWS = np.array([math.sin(1.3 * i + 0.7 * d**2) + 0.25 * math.cos(2.1 * i * d) for i, d in NUMBERS]).reshape(8, 4)
LABELS = np.array([0, 0, 1, 1, 2, 2, 3, 3])


def measured(analysis, rows=ROWS, labels=LABELS, **settings):
    return analysis.measure(EmbeddingView(rows, labels, **settings))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        *(({"drop_top": 0}, 0.269400), ({"drop_top": 1}, 0.240878)),
        *(({"drop_top": n, "direction": "to_uniform"}, value) for n, value in ((0, 0.223399), (1, 0.230796))),
    ],
)
def test_rho_of_the_fixture(settings, expected):
    assert measured(analysis.RhoAnalysis(**settings)).values["rho"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "from_uniform", "expected"),
    [
        ([4, 2, 1, 1], True, 0.173287),
        ([2, 1, 1], True, 0.056633),
        ([4, 2, 1, 1], False, 0.173287),
        ([2, 1, 1], False, 0.058892),
        ([3, 3, 3], True, 0.0),
    ],
)
def test_rho_of_a_worked_spectrum(values, from_uniform, expected):
    assert decay(np.array(values, float), from_uniform=from_uniform)[0] == pytest.approx(expected, abs=1e-6)


def test_rho_says_when_it_would_be_infinite():
    flat = np.eye(2)[np.arange(6) % 2] @ np.eye(2, 5)
    found = measured(analysis.RhoAnalysis(), flat, np.zeros(6, int))
    assert found.remarks == ("3 of 4 singular values are zero: rho is a floor of infinity",)


@pytest.mark.parametrize(
    ("distance", "expected"),
    [("cosine", (0.671090, 1.214977, 0.552348)), ("euclidean", (1.149659, 1.224229, 0.939088))],
)
def test_pi_of_the_fixture(distance, expected):
    values = measured(analysis.PiAnalysis(distance=distance)).values
    assert (values["pi_intra"], values["pi_inter"], values["pi_ratio"]) == pytest.approx(expected, abs=1e-6)


def test_pi_leaves_lone_classes_out_and_says_so():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    found = measured(analysis.PiAnalysis(), rows, np.array([0, 0, 1]))
    assert found.values["pi_intra"] == pytest.approx(1)
    assert found.remarks == ("1 classes of one row are left out of pi_intra",)


def test_alignment_and_uniformity_agree_with_a_loop():
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    near, kernel = [], []
    for i in range(8):
        for j in range(i):
            gap = np.linalg.norm(unit[i] - unit[j])
            kernel.append(math.exp(-2 * gap**2))
            if LABELS[i] == LABELS[j]:
                near.append(gap**1.5)
    assert measured(analysis.AlignmentAnalysis(alpha=1.5)).values["alignment"] == pytest.approx(np.mean(near))
    assert measured(analysis.UniformityAnalysis()).values["uniformity"] == pytest.approx(math.log(np.mean(kernel)))


def test_hubness_of_a_star():
    # Everyone's nearest is the centre; the centre's nearest is row 1.
    rows = np.array([[0.0, 0.0], [1, 0], [-1.1, 0], [0, 1.2], [0, -1.3]])
    found = measured(analysis.HubnessAnalysis(k=1), rows, np.zeros(5, int), normalise=False)
    assert found.curves["named_by"].tolist() == [4, 1, 0, 0, 0]
    assert found.values["orphans"] == 0.6
    assert found.values["largest_hub"] == 4
    assert found.values["hubness"] == pytest.approx((27 + 0 - 3) / 5 / (((9 + 0 + 3) / 5) ** 1.5))


def test_densities_have_area_one_and_agree_with_a_loop():
    found = measured(analysis.DensitiesAnalysis(n_bins=8))
    width = found.curves["edges"][1]
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    gaps = [(np.linalg.norm(unit[i] - unit[j]), LABELS[i] == LABELS[j]) for i in range(8) for j in range(i)]
    for name, is_same in (("positive", True), ("negative", False)):
        some = [gap for gap, same in gaps if same == is_same]
        expected = np.histogram(some, 8, (0, 2))[0] / len(some) / width
        np.testing.assert_allclose(found.curves[f"{name}_density"], expected)
        assert found.values[f"mean_{name}_distance"] == pytest.approx(np.mean(some))


def test_effective_rank_counts_equal_directions():
    for rows, rank in ((np.eye(6), 6), (np.outer([1.0, -2, 3], [1, 1, 0]), 1)):
        found = measured(analysis.EffectiveRankAnalysis(), rows, np.zeros(len(rows), int))
        assert found.values["effective_rank"] == pytest.approx(rank)


def test_class_spectra_average_the_classes():
    # Class 0 lies along one axis, class 1 along two, equally.
    rows = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    found = measured(analysis.ClassSpectraAnalysis(drop_top=0), rows, np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(found.curves["class_spectrum"], [0.75, 0.25], atol=1e-12)


def test_collapse_names_what_it_sees():
    draw = np.random.default_rng(0)
    labels = np.arange(100) % 5
    assert measured(analysis.CollapseAnalysis(), draw.normal(size=(100, 32)), labels).remarks == ()
    one_point = np.ones((100, 32)) + 1e-4 * draw.normal(size=(100, 32))
    found = measured(analysis.CollapseAnalysis(), one_point, labels)
    assert found.values["is_collapsed"] == 1
    assert found.remarks[0].startswith("collapse (point): all embeddings lie at one point")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: analysis.RhoAnalysis(drop_top=-1), "rho.drop_top must be at least 0; got -1"),
        (lambda: measured(analysis.RhoAnalysis(drop_top=4)), "rho drops 4 of 4 singular values: none is left"),
        (lambda: analysis.PiAnalysis(distance="l1"), "pi.distance must be 'cosine' or 'euclidean'; got 'l1'"),
        (lambda: analysis.HubnessAnalysis(k=0), "hubness.k must be at least 1; got 0"),
        (lambda: analyse(ROWS, LABELS, ["rhoo"]), "no analysis 'rhoo'. Did you mean 'rho'? `fairground list analysis`"),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(InputError) as caught:
        call()
    assert sentence in str(caught.value)
