import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

from fairground.contracts.metric import Verification
from fairground.errors import InputError
from fairground.evaluation import evaluate
from fairground.metrics import EerMetric, FnmrMetric, RocAucMetric

# Genuine similarities 1, 2, 3, 4; impostors 0, 0, 1, 2.5.
ABOVE, EQUAL = np.array([1, 1, 0, 0]), np.array([1, 0, 0, 0])
BY_HAND = Verification(genuine=np.ones(4, int), impostors_above=ABOVE, impostors_equal=EQUAL, n_impostors=4)


def test_by_hand():
    # Of 16 pairs, genuine wins 2 + 3 + 4 + 4, and one is equal: 13.5 / 16.
    assert RocAucMetric().score(BY_HAND) == pytest.approx(13.5 / 16)
    # A quarter of the impostors may pass: threshold 2 lets one pass and refuses one of four.
    assert FnmrMetric(fmr=0.25).score(BY_HAND) == 0.25
    assert FnmrMetric(fmr=0.0).score(BY_HAND) == 0.5
    # At threshold 2 one in four of each kind is wrong.
    assert EerMetric().score(BY_HAND) == pytest.approx(0.25)


def test_impostors_beyond_every_genuine_pair():
    hopeless = Verification(
        genuine=np.array([3]), impostors_above=np.array([5]), impostors_equal=np.array([0]), n_impostors=5
    )
    assert RocAucMetric().score(hopeless) == 0
    assert FnmrMetric(fmr=0.1).score(hopeless) == 1
    assert EerMetric().score(hopeless) == 1


@pytest.mark.parametrize("normalise", [True, False])
def test_agrees_with_scikit_learn_over_all_pairs(normalise):
    draw = np.random.default_rng(1)
    labels = draw.integers(12, size=150)
    rows = draw.normal(size=(12, 5))[labels] + draw.normal(size=(150, 5))
    if not normalise:
        # Whole numbers: many pairs are exactly as similar as others.
        rows = (2 * rows).round()
    points = rows / np.linalg.norm(rows, axis=1, keepdims=True) if normalise else rows
    above = np.triu_indices(150, 1)
    similarity = -((points[:, None] - points) ** 2).sum(-1)[above]
    is_genuine = (labels[:, None] == labels)[above]
    fmr, tmr, _ = roc_curve(is_genuine, similarity, drop_intermediate=False)
    scores = evaluate(rows, labels, ["roc_auc", "eer", "fnmr@fmr=0.05"], normalise=normalise, threads=2)
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(is_genuine, similarity), abs=1e-12)
    assert scores["fnmr@fmr=0.05"] == pytest.approx((1 - tmr)[fmr <= 0.05].min(), abs=1e-12)
    after = int(np.argmax(tmr >= 1 - fmr))
    before_gap, after_gap = (1 - tmr - fmr)[after - 1 : after + 1]
    expected = np.interp(0, [after_gap, before_gap], [fmr[after], fmr[after - 1]])
    assert scores["eer"] == pytest.approx(expected, abs=1e-12)


def test_refusals():
    with pytest.raises(InputError, match=r"fnmr.fmr must be in \[0, 1\), the share of impostor pairs .*; got 2"):
        FnmrMetric(fmr=2)
    with pytest.raises(InputError, match="verification needs pairs of different classes; there is one class only"):
        evaluate(np.eye(3), np.zeros(3, int), ["eer"])
    with pytest.raises(InputError, match="verification needs two rows of one class"):
        evaluate(np.eye(3), np.arange(3), ["eer"])
