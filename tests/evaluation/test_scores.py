import numpy as np
import pytest
import torch

from fairground.errors import InputError
from fairground.evaluation import evaluate

# Fixture G8: points on a line, one class alone.
POSITIONS = np.array([0, 0.1, 0.25, 0.45, 0.7, 1.0, 1.35, 1.75])[:, None]
LABELS = np.array([0, 0, 1, 0, 1, 1, 2, 0])
DROPPED = {
    "precision@1": 3 / 7,
    "recall@2": 4 / 7,
    "recall@4": 1.0,
    "r_precision": 0.380952,
    "map@r": 0.281746,
    "map": 0.544728,
}
KEPT = {
    "precision@1": 3 / 8,
    "recall@2": 4 / 8,
    "recall@4": 7 / 8,
    "map@c": 0.228299,
    "map@1000": 0.340203,
    "precision@c": 0.343750,
}


@pytest.mark.parametrize(("lone", "expected"), [("drop", DROPPED), ("zero", KEPT)])
def test_points_on_a_line(lone, expected):
    scores = evaluate(POSITIONS, LABELS, list(expected), normalise=False, lone=lone)
    assert scores == pytest.approx(expected, abs=1e-6)


def test_tensors_and_arrays_give_the_same():
    generator = torch.Generator().manual_seed(0)
    embeddings = torch.randn(50, 8, generator=generator)
    labels = torch.arange(50) % 7
    assert evaluate(embeddings, labels) == evaluate(embeddings.numpy(), labels.numpy())


def test_default_metrics():
    scores = evaluate(np.eye(4), np.array([0, 0, 1, 1]))
    assert list(scores) == ["recall@1", "recall@2", "recall@4", "recall@8", "r_precision", "map@r"]


def test_unknown_metric_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"no metric 'recal@5'\. Did you mean 'recall@5'\?"):
        evaluate(POSITIONS, LABELS, ["recal@5"])
