import numpy as np
import pytest

from fairground.deploy.model_folder import EER, FMR, thresholds_of
from fairground.evaluation.embedding_view import EmbeddingView


def on_circle(degrees):
    angle = np.deg2rad(np.array(degrees, dtype=np.float64))
    return np.stack([np.cos(angle), np.sin(angle)], 1).astype(np.float32)


def test_two_classes_apart_have_a_threshold_without_error():
    view = EmbeddingView(on_circle([0, 10, 90, 100]), np.array([0, 0, 1, 1]))
    for found in thresholds_of(view):
        assert (found.fmr, found.fnmr) == (0, 0)
        assert found.similarity == pytest.approx(np.cos(np.deg2rad(10)), abs=1e-6)
        # Each pair is counted from both its ends.
        assert (found.n_genuine, found.n_impostors) == (4, 8)


def test_rates_and_thresholds_agree_with_counting_all_pairs():
    generator = np.random.default_rng(0)
    labels = np.repeat(np.arange(12), 10)
    rows = generator.normal(size=(12, 8))[labels] + 1.2 * generator.normal(size=(120, 8))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    similar = rows @ rows.T
    is_pair = ~np.eye(120, dtype=bool)
    same = labels[:, None] == labels[None]
    genuine, impostors = similar[same & is_pair], similar[~same]
    found = {one.name: one for one in thresholds_of(EmbeddingView(rows, labels))}
    for one in found.values():
        assert one.fmr == pytest.approx((impostors >= one.similarity - 1e-7).mean(), abs=2e-4)
        assert one.fnmr == pytest.approx((genuine < one.similarity - 1e-7).mean(), abs=2e-3)
    assert found[FMR].fmr <= 0.01
    lower = genuine[genuine < found[FMR].similarity - 1e-6].max()
    assert (impostors >= lower).mean() > 0.01
    assert abs(found[EER].fmr - found[EER].fnmr) < 0.01


def test_raw_embeddings_have_distances_for_similarities():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [100.0, 0.0], [100.0, 5.0]], np.float32)
    found = thresholds_of(EmbeddingView(rows, np.array([0, 0, 1, 1]), normalise=False))
    assert found[0].similarity == pytest.approx(-5.0, abs=1e-3)


def test_nothing_is_claimed_where_nothing_can_be_measured():
    assert thresholds_of(EmbeddingView(on_circle([0, 1]), np.array([0, 1]))) == ()
    assert thresholds_of(EmbeddingView(on_circle([0, 1]), np.array([0, 0]))) == ()
